// Package certify proves a checker's answer again, without the checker. It trusts the history and nothing else. It
// imports only history, level, evidence, predicates and certify/unsat; predicates is the only code that it shares with
// the checkers.
//
// # Valid
//
// The order is replayed in one pass on an array with the current version of each key: every read must be of the version
// that is current at its transaction's turn. Versions are (key, value) pairs, so that duplicate values need no care.
// Under snapshot isolation the order is one of begin and commit events. All reads of a transaction are of its snapshot,
// the array at its begin event. At its commit event, no key that it writes may have been committed since. Session order
// and real time are two more passes: each transaction comes after the committed ones before it in its session, and no
// transaction after one that began later than it ended, for which a running maximum of the starts suffices.
//
// # Violated
//
// An anomaly of single reads is derived again from the operations that it names and one scan over all writes.
//
// A cycle is read as a clause. Each of its edges is checked against the history. If an edge assumes something that the
// history does not show, that is a literal:
//
//   - the order of two writers of a key (ww, and rw whose version has a writer). Serializability and snapshot isolation
//     order all writers of a common key, so each pair has one variable for all its keys. If one of them read from the
//     other, or session order or real time orders them, the variable has that value.
//   - which of several possible writers a read saw, if a value was written more than once. At least one of them is the
//     writer.
//   - that a transaction of unknown outcome counts. It does if a counting transaction saw what it wrote.
//
// "Not all assumptions of this cycle hold" is true of every order that explains the history. So if no assignment
// satisfies all clauses of an anomaly, there is no such order: that is the proof. A cycle without assumptions is the
// empty clause. Under snapshot isolation a cycle counts only if no two anti-dependencies are adjacent in it, the last
// and the first edge included (errata B2). An anti-dependency between two writers of its key counts there as the order
// of their writes.
//
// The name of a proof by cycles makes a claim too: every level that forbids the kind is violated. So the proof must
// hold at each of the weakest of these levels.
//
// At the weaker levels a commit order is checked against the level's axiom. A cycle counts there if it has no
// anti-dependency, or one, and the other edges make the overwriter visible to the reader.
//
// A list read shows the order itself: the appenders of its elements come before the reader, in that order, and all
// other appenders come after it.
//
// If an element of a list was appended more than once, the clauses say which transaction's append each place of the
// longest read is. A transaction's appends are a block of adjacent places that no read ends within. Each block that
// fits has a variable; every place is in one block, and each transaction has one block at most. Whether a read shows a
// transaction, and which of two appenders is first, are assumptions that follow from these.
//
// # Timestamps
//
// A verdict about the database's timestamps answers another question: whether the one order that they give is an order
// of the level. A valid one is replayed like any other and compared with the timestamps. A violation of an axiom of
// CHRONOS is derived again: it names a transaction and a key, whose snapshot is computed from all writes of the key.
//
// # Files
//
// The core must be right, and so is as plain as it can be:
//
//   - certify.go: Check and Verify; orders.go: the demands on an order; anomalies.go: the demands on every anomaly, and
//     its name
//   - ops.go, index.go: what a transaction reads and writes; the writers and readers of the versions that the evidence
//     names
//   - tables.go: replay of orders of registers, lists and predicates
//   - reads.go, lists.go: anomalies of single reads; dead.go: reads from transactions that cannot have committed
//   - cycles.go, lists.go, weak.go, predicates.go: the edges of cycles; clauses.go: their assumptions, as clauses
//   - doubled.go: lists with elements that were appended more than once
//   - commitorder.go, weak.go: orders at read-committed, read-atomic and causal; mixed.go: orders with mixed levels
//   - linear.go: orders of single operations, and that there is none
//   - stamporder.go, stampanomalies.go, stampreads.go: verdicts about timestamps
//
// The fast paths are apart. Each has a plain twin, with which the tests compare it on random histories:
//
//   - tables.go: the rows for which a predicate is true, by an index (predicates.State). Twin: examines every row
//   - clocks.go: visibility at causal. Twin: the whole past of every transaction (twins_test.go)
//   - unsat: unsatisfiability of a set of clauses, by search with learning. Twin: all assignments (sat_test.go)
//
// False claims in testdata/refused.txt or badresults_test.go provoke each error of the package. TestRefused reads the
// errors from the source and demands that.
//
// Experimental: this package may still change.
package certify
