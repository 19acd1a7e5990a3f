// Package sqlwork reads the user's own workloads: a YAML file with SQL statements with parameters on the user's tables.
// The file names the columns of key and version. The package derives reads and writes from the answer to a statement.
//
//   - file.go: the file, and its errors
//   - token.go: a statement's words, names, texts and parameters
//   - understand.go: one statement: which rows of which table it reads or writes
//   - statement.go: its text with values, and the effects that its answer shows
//   - draw.go: parameters, drawn once a transaction
//
// Experimental: this package may still change.
package sqlwork
