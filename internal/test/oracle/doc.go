// Package oracle decides tiny histories by definition: it tries every order. It is the naive twin that every checker is
// compared with, so it is written to be plainly right, and it shares no code with them.
//
// # Definitions
//
// The committed transactions, and any subset of those of unknown outcome, take part; aborted ones do not. The initial
// transaction, where there is one, has made the first state.
//
//   - Serializable: some sequence of the transactions in which every read returns the current value when the
//     transactions are executed one after the other.
//   - Snapshot isolation: some sequence of begin and commit events, begin before commit, in which every read returns
//     the transaction's own last write or else the value that was current at begin, writes become current at commit,
//     and no key that a transaction writes was committed by another between its begin and its commit (first committer
//     wins).
//   - session-: a transaction is placed (begins) after the earlier committed transactions of its session were placed
//     (committed). One of unknown outcome has no end: nothing need come after it.
//   - Read-committed, read-atomic, causal: some writer for each read, and some sequence of the transactions that keeps
//     sessions and has each writer before its readers, such that where t3 reads x from t1 and t2, another writer of x,
//     is visible to t3, t2 is before t1. Visible is what t3 read from before that read; what it read from or follows in
//     its session; what is before t3 by any number of these two. (Biswas and Enea 2019.) A read after an own write of
//     its key returns the last one. For lists the versions are the states of a list in the sequence: a read is of the
//     initial list, or from the transaction whose appends are the last that it shows, and what it shows before its
//     reader's own appends is all that the transactions up to that one append, in the sequence. An append is a write
//     that sees nothing.
//   - strict-: session-, and a is placed (committed) before b is placed (begins) where a.end + skew < b.start − skew.
//
// A predicate read returns the rows of all keys of the file of which the predicate is true when it is executed, with
// their versions; absent and deleted rows are no rows. A predicate write is such a read, of rows whose versions the
// client may not know, and a write of them. Where the truth is unknown (a column is missing or null) the row may be
// matched or not. Own earlier writes are seen, and under snapshot isolation the keys that predicate writes wrote count
// for first committer wins.
//
// Values are compared, not versions: duplicate values, deletes, several writes of a key and reads of own writes need no
// rule of their own. So the anomalies of single reads that other checkers find in a pre-pass fall out of the replay: no
// order gives a transaction its own later write, a value that nobody wrote or only an aborted transaction wrote, or one
// that its writer overwrote itself before commit, since at commit only the last write of a key is there to be read.
//
// # Two implementations
//
//   - serial.go, snapshot.go: the replay, which decides.
//   - weak.go: the axioms of the weaker levels, over all sequences; of these there is one implementation
//   - explain.go: the second, by Adya's direct serialization graph over every version order, which finds the anomalies
//     of a violation. Its verdict is compared with the replay's each time; a difference is an error. shortest.go: its
//     cycles; clauses.go: a version order for each key, by search.
//   - predicates.go: predicate reads and writes, for the first; predgraph.go: for the second, whose verdict is compared
//     here too, but which gives no evidence of them.
//   - reads.go: anomalies of single reads, for the second.
//
// Experimental: this package may still change.
package oracle
