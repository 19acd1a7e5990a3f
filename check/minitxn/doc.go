// Package minitxn decides isolation where the history shows the order of its versions: mini-transactions (Huang et al.,
// "Boosting end-to-end database isolation checking via mini-transactions", ICDE 2025: [MTC]), whose every write follows
// a read of its key, and lightweight transactions on one key each. Nothing is guessed: serializability, snapshot
// isolation, their session and strict forms, and linearizability are decided in linear time.
//
// # Mini-transactions
//
// A version that is overwritten by a transaction that read it is followed by that transaction's. If two transactions
// overwrite one version, neither saw the other ([MTC] Definition 10, DIVERGENCE): an anomaly at all six levels. Else
// every version has one overwriter, the versions of a key are a chain, and the dependency graph is unique: so for an
// answer it only has to be acyclic. At the serializable levels its nodes are transactions. At the snapshot levels they
// are the transactions' begin and commit events: a reader, or the next in a session, begins after the other's commit; a
// reader of an overwritten version begins before the overwriter's commit. A path from commit to commit is an edge of
// the paper's induced graph (SO ∪ WR) ; RW?, with the question mark that its optimized form lost (errata M2); and
// events need no composing.
//
// Real time needs no edges at all: by the lemma of two integers, see [graph.Windows], each node needs only the latest
// start among those before it, and the order sorted by that number is the commit order (errata M3: the paper's form is
// quadratic).
//
// # Lightweight transactions
//
// Each key by itself: linearizability is local (Herlihy and Wing 1990, Theorem 1). Where each write is a
// compare-and-set of a value that is written once, the key's history is a chain of layers: a writer, then those that
// read its value. [Chains] walks it with one running maximum. [Zones] decides registers with blind writes of unique
// values. For anything else there is [Search], that of Wing and Gong as Lowe does it.
//
// # Files
//
//   - mini.go: what a history must be (Definitions 8 and 9)
//   - dependency.go: who overwrote whom, divergence, and the graph, kept as lists and never written down
//   - order.go: the acyclic case: an order of the transactions or events, real time included
//   - cycle.go: the other case: a short cycle, with a reason for each edge
//   - chains.go: lightweight transactions in linear time
//   - zones.go: a register with blind writes, every value written once
//   - search.go: a register of any operations
//   - core.go: of a register without an order, the few operations that have none by themselves
//   - single.go: what a history must be for linearizability
//
// Experimental: this package may still change.
package minitxn
