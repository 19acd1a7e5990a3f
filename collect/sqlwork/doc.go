// Package sqlwork reads the user's own workloads: a YAML file with SQL statements with parameters on the user's tables.
// The file names the columns of key and version. Package sqlstmt derives reads and writes from the answers.
//
//   - file.go: the file, and its errors
//   - statement.go: one statement: its text with values, and the plan by which its answers are recorded
//   - draw.go: parameters, drawn once a transaction
//
// Experimental: this package may still change.
package sqlwork
