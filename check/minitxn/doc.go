// Package minitxn decides isolation for histories that show the order of their versions: mini-transactions (Huang et
// al., "Boosting end-to-end database isolation checking via mini-transactions", ICDE 2025: [MTC]), in which every write
// follows a read of its key, and lightweight transactions on one key each. Serializability, snapshot isolation, their
// session and strict forms, and linearizability are decided in linear time, without a guess.
//
// # Mini-transactions
//
// A transaction that reads a version and overwrites it installs the next version of the key. If two transactions
// overwrite one version, neither saw the other ([MTC] Definition 10, DIVERGENCE): an anomaly at all six levels. Else
// every version has one overwriter, the versions of a key are a chain, and the dependency graph is unique: the level
// holds if it is acyclic. At the serializable levels its nodes are transactions. At the snapshot levels its nodes are
// the begin and commit events: a reader, or the next transaction of a session, begins after the commit of the other;
// the reader of an overwritten version begins before the overwriter's commit. A path from commit to commit is an edge
// of the paper's induced graph (SO ∪ WR) ; RW?, with the question mark that its optimized form lost (errata M2). With
// events, no edges have to be composed.
//
// Real time needs no edges: by the lemma of two integers (see [graph.Windows]), each node needs only the latest start
// among the nodes before it. Sorted by that number, the order is the commit order (errata M3: the paper's form is
// quadratic).
//
// # Lightweight transactions
//
// Each key is decided by itself, because linearizability is local (Herlihy and Wing 1990, Theorem 1). If each write is
// a compare-and-set of a value that is written once, the key's history is a chain of layers: a writer, then the readers
// of its value. [Chains] walks it with one running maximum. [Zones] decides registers with blind writes of unique
// values. [Search], by Wing and Gong with Lowe's memory, decides everything else.
//
// # Files
//
//   - mini.go: the demands on a history (Definitions 8 and 9)
//   - dependency.go: overwriters, divergence, and the graph, which is never written down edge by edge
//   - order.go: the acyclic case: an order of the transactions or events, with real time
//   - cycle.go: the other case: a short cycle, with a reason for each edge
//   - chains.go: lightweight transactions in linear time
//   - zones.go: a register with blind writes, every value written once
//   - search.go, lookahead.go: a register of any operations
//   - core.go: a few operations of a register that have no order by themselves
//   - single.go: the demands of linearizability on a history
//
// Experimental: this package may still change.
package minitxn
