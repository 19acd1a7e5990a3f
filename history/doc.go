// Package history has the data of a history: sessions, transactions, operations, the versions that they read and
// wrote, and their times. It is the input of every checker.
//
// # Data
//
// A [History] has columns and is immutable. Transactions are numbered 0..NumTxns-1 in the order of the file;
// operations are numbered, grouped by transaction; keys and versions are interned. A version is a pair (key, value).
// [Builder.Build] joins reads to versions once, so that an operation is a kind (1 byte) and a version id (4 bytes),
// and no checker needs to hash a value. Package prepass finds which transaction, or transactions, wrote a version.
//
// Indices are uint32; None means "none". Times are int64 nanoseconds or database ticks; NoTime means that a time is
// missing, and a column that no transaction uses is nil.
//
// # Files
//
//   - history.go: the columns and their accessors; note.go: a reader's notes about the file
//   - value.go: values, keys and interned texts
//   - builder.go: from operations to columns; session.go: the sessions; merge.go: joining builders that were filled
//     in parallel
//   - join.go: from reads to versions, partitioned by hash so that each part's table stays in cache
//   - build.go, validate.go: the finished history, and errors about the file's content, with line and field
//   - draft.go: transactions of a stream, as they were read
//   - diff.go: where two histories differ
//
// Stable: this package's API changes only with a new major version.
package history
