// Package parquet reads and writes histories as Apache Parquet files (parquet.apache.org/docs/file-format), the columns
// that DuckDB, pandas, polars and Spark read and write: a row for each operation. docs/formats.md has the columns and
// their meaning; [Columns] has their names.
//
// In a program that imports this package, package history/format reads and writes such files; in others it returns an
// error.
//
// # How a file is read
//
// The library (github.com/parquet-go/parquet-go) reads the file's description and the pages' headers, and decodes
// values. Its readers of rows are not used, since they are six times slower. This package finds, decompresses and
// decodes pages one by one, a column at a time. It hands on windows of rows that lie in one page of every column, so
// that a row costs no allocation. Files of other programs are read too: columns in any order, integers of any width,
// with or without sign, timestamps of any unit, whole numbers as floating-point ones (pandas makes these if some are
// missing), texts with or without dictionary, any compression.
//
// # Trust
//
// A file may be cut off or forged. A size that a file states is used only after a check that its memory is bounded by
// the file's own size: see guard.go. A failure of the library's decoders becomes an error with the column and the place
// in the file.
//
// # Files
//
//   - columns.go: the columns, and what a file's columns may be of
//   - guard.go: what is looked at before the library may decode it
//   - open.go: a file's description, and pieces of its rows
//   - pages.go: pages of a column, decompressed
//   - values.go: encoded values as integers, texts by number
//   - read.go: rows as transactions
//   - register.go: how history/format gets at all this
//   - write.go
//
// Experimental: this package may still change.
package parquet
