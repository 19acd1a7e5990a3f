// Package replay decides serializability and snapshot isolation by guessing a total order, replaying it, and making a
// constraint only where a read fails.
//
// # The method
//
// Order the transactions by whatever the history suggests: database timestamps, client times, positions in sessions.
// Replay the order on a table with one cell a key. A read that finds the version it names is explained; if all are, the
// order is the proof. A read r of version a that finds c instead says that c was put between a and r. One of two orders
// is right: c before a, or r before c. That is one choice of the polygraph, and the only one made for it. The choices
// go to a CDCL solver whose theory keeps a Pearce–Kelly order acyclic and decides only those that the present order
// disobeys; the order it ends with is replayed again. Each round adds a choice or an edge, so the loop ends: with an
// order, or with a refutation of choices that every polygraph of the history contains.
//
// # One encoding
//
// At the serializable levels a transaction is one node. At the snapshot levels it is two, begin and commit, and
//
//	r reads from w      commit(w) → begin(r)
//	a before b          commit(a) → begin(b), and begin(r) → commit(b) for every reader r of a
//	session order       commit → begin of the next
//
// so that acyclic means snapshot isolation (BC-graphs; errata B3, B4). With begin = commit these are the edges of a
// serialization graph. Real time is a chain of auxiliary nodes, two edges a transaction (errata B6, graph.TimeChain).
//
// # Beyond one possible writer
//
// A read of a value that several writes installed is compared by value, and costs nothing while the value is right.
// Where it is not, the read gets a selection: one literal a possible writer, one of which must hold. A transaction of
// unknown outcome that only such reads could have seen gets a literal "counts".
//
// # Predicates
//
// A predicate operation is a read of all keys. Of the rows that it matched the view has reads; that it missed no other
// is one count while the order is replayed. Only where the count differs does each key that it missed become a choice:
// the operation comes before the versions in a row that match, or after the next that does not. See predicates.go.
//
// # Files
//
//   - engine.go: nodes, known edges; hint.go: when each node may have been; first.go: the first order
//   - pass.go: the replay of an order, at both families
//   - predicates.go: predicate operations: replay, and failures to choices
//   - loop.go: failures to choices, solving, rounds; seed.go: what its refutations rest on
//   - settle.go: before the first order: what reads with several possible writers cannot have seen;
//     settle_rules.go: the rules; settle_trace.go: what findings rest on
//   - escalate.go: when conflicts pile up: serial orders at the snapshot levels, then the next two
//   - agree.go: after it: orders that agree with reads
//   - saturate.go: edges that every order obeys
//   - dense.go: then all choices left open at once, over the closure
//   - trace.go: what a refutation by these two rests on
//   - refute.go: the refutation of a small history as cycles with their reasons
//
// Sources: the polygraph is Papadimitriou's and Cobra's, begin and commit nodes are Adya's and Viper's; the
// order-relative don't-cares and the loop are isovet's own (docs/checkers/replay.md).
//
// Experimental: this package may still change.
package replay
