// Package replay decides serializability and snapshot isolation by guessing a total order and replaying it. It makes a
// constraint only if a read fails.
//
// # The method
//
// Order the transactions by whatever the history suggests: database timestamps, client times, positions in sessions.
// Replay the order on a table with one cell per key. A read is explained if it finds the version that it names. If all
// reads are explained, the order is the proof. If a read r of version a finds c instead, the order has c between a and
// r. Either c comes before a, or r before c: this is one choice of the polygraph, and the only one made for this
// failure. A CDCL solver makes the choices. Its theory keeps a Pearce–Kelly order acyclic, and decides only choices
// that the current order disobeys. The resulting order is replayed again. Each round adds a choice or an edge, so the
// loop ends: with an order, or with a refutation by choices that every polygraph of the history contains.
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
// # Several possible writers
//
// If several writes installed a value, a read of it is compared by value, at no cost while the value is right. If it is
// wrong, the read gets a selection: one literal per possible writer, one of which must hold. A transaction of unknown
// outcome that only such reads may have seen gets a literal "counts".
//
// # Predicates
//
// A predicate operation is a read of all keys. The view has reads of the rows that it matched. One count in the replay
// shows whether other rows match too. Only if that count differs does each key that the operation missed become a
// choice: the operation comes before the versions in a row that match, or after the next one that does not. See
// predicates.go.
//
// # Files
//
//   - engine.go: nodes, known edges; hint.go: guessed times of the nodes; first.go: the first order
//   - replay_order.go: the replay of an order, at both families; replay_moved.go: of the keys that changed
//   - predicates.go: predicate operations, and failures to choices; predicate_replay.go: their replay
//   - loop.go: failures to choices, solving, rounds; seed.go: the transactions of its refutations
//   - settle.go: before the first order: excludes possible writers of reads; settle_rules.go: the rules;
//     settle_trace.go: the transactions of its refutations
//   - escalate.go: after many conflicts: serial orders at the snapshot levels, then saturate.go and dense.go
//   - schedule.go: after settling: orders that agree with reads
//   - saturate.go: edges that every order obeys
//   - dense.go: then all choices left open at once, over the closure
//   - saturate_trace.go, tracer.go: the transactions of refutations by these two
//   - refute.go: the refutation of a small history as cycles with their reasons; minimize.go: fewer transactions
//
// Sources: the polygraph is Papadimitriou's and Cobra's, begin and commit nodes are Adya's and Viper's; the
// order-relative don't-cares and the loop are isovet's own (docs/checkers/replay.md).
//
// Experimental: this package may still change.
package replay
