// Package sqlwork reads the user's own workloads: a YAML file of SQL statements with parameters for the user's tables.
// The file names the columns with the key and the version of each table. Package sqlstmt derives reads and writes from
// the answers.
//
//   - file.go: the file, and its errors
//   - statement.go: one statement: its text with values, and the plan for recording its answers
//   - draw.go: parameters, drawn once for each transaction
//
// Experimental: this package may still change.
package sqlwork
