// Package certify proves a checker's answer again, without the checker: it trusts the history and nothing else. It
// imports history, level, evidence, predicates and certify/unsat only: of what it checks it shares predicates.
//
// # Valid
//
// The order is replayed on one array, the current version of each key, in one pass: every read must be of the version
// that is current when its transaction's turn has come. Versions are (key, value) pairs, so equal values are equal here
// too and duplicates need no care. Under snapshot isolation the order is one of begin and commit events: all reads of a
// transaction are of its snapshot, which is the array at its begin event, and at its commit event no key that it writes
// may have been committed since. Session order and real time are two more passes: each transaction after the committed
// ones before it in its session, and no transaction placed after one that began later than it ended, for which a
// running maximum of the starts suffices.
//
// # Violated
//
// An anomaly of single reads is derived again from the operations that it names and one scan over all writes.
//
// A cycle is read as a clause. Each of its edges is checked against the history; what an edge assumes beyond it is a
// literal:
//
//   - the order of two writers of a key (ww, and rw whose version has a writer). Two writers of a common key are
//     totally ordered under serializability and snapshot isolation alike, so a pair has one variable, whatever the key.
//     Where one of them read from the other, or session order or real time orders them, the variable has that value.
//   - which of several possible writers a read saw, where a value was written more than once. At least one of them
//     holds.
//   - that a transaction of unknown outcome counts. It does if one that counts saw what it wrote.
//
// "Not all assumptions of this cycle hold" is true of every order that explains the history, for each cycle. So if the
// clauses of an anomaly cannot be satisfied together, there is no such order: that is the proof, and a cycle without
// assumptions is the empty clause. Under snapshot isolation a cycle counts only if no two anti-dependencies are
// adjacent in it, the last and the first edge included (errata B2); one between two writers of its key is as good as
// the order of their writes.
//
// The name of a proof by cycles claims something too: that whatever level forbids the kind is violated. So the proof
// must hold at each of the weakest of these.
//
// At the weaker levels a commit order is checked against the level's axiom, and a cycle counts if it has no
// anti-dependency, or one and beside it what makes the overwriter visible to the reader.
//
// A list read shows the order itself: the appenders of its elements come before the reader, in that order, and all
// other appenders come after it.
//
// Where an element of a list was appended more than once, which append a place of the longest read is of is a variable
// for each place where a transaction's appends, all in a row, fit between the ends of the reads: every place is of one
// transaction, and none is there twice. That a read shows a transaction, or not, and who of two is first, are
// assumptions with these for reasons.
//
// # Timestamps
//
// A verdict about the database's timestamps is another question: whether the one order that they give is an order of
// the level. A valid one is replayed as any other and compared with the timestamps. A violation of an axiom of CHRONOS
// is derived again: the snapshot of the one transaction and key that it names is put together from all writes of the
// key.
//
// # Files
//
// The core is what has to be right, and as plain as it can be:
//
//   - certify.go: Check and Verify; orders.go: what an order must have; anomalies.go: what every anomaly must have, and
//     its name
//   - ops.go, index.go: what a transaction reads and writes; who wrote and who read the versions that the evidence
//     names
//   - tables.go: replay of orders of registers, lists and predicates
//   - reads.go, lists.go: anomalies of single reads; dead.go: reads of what only transactions wrote that cannot have
//     committed
//   - cycles.go, lists.go, weak.go, predicates.go: the edges of cycles; clauses.go: what they assume, as
//     clauses
//   - doubled.go: lists with elements that were appended more than once
//   - commitorder.go, weak.go: orders at read-committed, read-atomic and causal
//   - linear.go: orders of single operations, and that there is none
//   - stamporder.go, stampanomalies.go, stampreads.go: verdicts about timestamps
//
// Beside it are the fast paths. Each has a plain twin, with which the tests compare it on random histories:
//
//   - tables.go: of which rows a predicate is true, by an index (predicates.State). Twin: every row is looked at
//   - clocks.go: what is visible at causal. Twin: the past of every transaction written out (twins_test.go)
//   - unsat: unsatisfiability of a set of clauses, by search with learning. Twin: all assignments (sat_test.go)
//
// Each error of the package is provoked by a false claim in testdata/refused.txt or badresults_test.go; TestRefused
// reads the errors off the source and demands it.
//
// Experimental: this package may still change.
package certify
