// Package sqlwork reads workloads of the user's own: SQL statements with parameters on his tables, in a YAML file, of
// which the columns that hold key and version are named. It tells what a statement's answer says that was read and
// written.
//
//   - file.go: the file, and what is wrong with it
//   - token.go: a statement's words, names, texts and parameters
//   - understand.go: one statement: which rows of which table it reads or writes
//   - statement.go: its text with values, and what its answer says
//   - draw.go: parameters, drawn once a transaction
//
// Experimental: this package may still change.
package sqlwork
