// Package parquet reads and writes histories as Apache Parquet files (parquet.apache.org/docs/file-format), the columns
// that DuckDB, pandas, polars and Spark read and write: a row for each operation. docs/formats.md has the columns and
// their meaning; [Columns] has their names.
//
// A program that imports this package has package history/format read and write such files; others say that they
// cannot.
//
// # How a file is read
//
// The file's own description, its pages' headers and its encodings are the library's
// (github.com/parquet-go/parquet-go): its decoders of encodings, not its readers of rows, which are six times slower.
// Pages are found, decompressed and decoded here one by one, a column at a time, and handed on in windows of rows that
// lie in one page of every column, so that a row costs no allocation. Files of others are read too: columns in any
// order, integers of any width, with sign or without, timestamps of any unit, whole numbers as floating-point ones
// (pandas makes these where some are missing), texts with or without dictionary, any compression.
//
// # Trust
//
// A file may be cut off or forged. No size that a file states is believed before what it would take is bounded by the
// file's own size: see guard.go. Whatever the library's decoders make of bytes that are wrong is an error with the
// column and the place in the file.
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
