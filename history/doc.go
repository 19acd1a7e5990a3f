// Package history holds what the clients of a database saw: sessions, transactions, operations, the versions they read
// and wrote, and the times. It is the one input of every checker.
//
// # Data
//
// A [History] is columnar and immutable. Transactions are dense indices 0..NumTxns-1 in the order of the file;
// operations are dense indices grouped by transaction; keys and versions are interned. A version is a pair (key,
// value): the join of reads to the versions they name is done once, by [Builder.Build], so that an operation is a kind
// (1 byte) and a version id (4 bytes) and no checker ever hashes a value again. Which transaction installed a version
// that a read names, and whether that is one transaction or several, is found by package prepass.
//
// Indices are uint32; None marks "no such thing". Times are int64 nanoseconds or database ticks; NoTime marks a missing
// one, and a column that no transaction uses is nil.
//
// # Files
//
//   - history.go: the columns and their accessors; note.go: what a reader has to say of the file
//   - value.go: values, keys and interned texts
//   - builder.go: from operations in any order of fields to columns; session.go: the sessions; merge.go: builders
//     filled side by side, one behind the other
//   - join.go: reads to versions, partitioned by hash so that each part's table stays in cache
//   - build.go, validate.go: the finished history, and what a file may not contain, with line and field
//   - draft.go: transactions of a stream, as they were read
//   - diff.go: where two histories differ
//
// Stable: this package's API changes only with a new major version.
package history
