// Package elaborate translates isovet's answers into proofs for the kernel (package kernel), so that neither an answer
// nor the checker that found it need be trusted. A valid history gets its order, a violation a refutation.
// docs/trust.md lists what remains trusted; the translation of histories (history.go, scene.go) is part of it. The
// translation of evidence is not, since the kernel judges the result.
//
// A violation's anomaly names transactions and keys. The package makes a scene from them: what these transactions read,
// the possible writers of that, and the operations that bear on it. A scene is a history of its own. If it violates the
// level, the whole history does: for each transaction and key a scene holds all operations, or only the writes, or
// none; and for each read it holds all possible writers of the version read. So an order of the whole history, without
// the transactions outside the scene, is an order of the scene. A scene may hold only some elements of a list, but then
// with all their appends and reads.
//
// At read committed, read atomic and causal an order is accompanied by the writers of all reads (weak.go). A refutation
// there needs only the graph of an assignment (weakrefute.go).
//
// For an answer about the database's timestamps the order is theirs, and a violation is one fault in that order
// (stamps.go).
//
// A search with clause learning finds the refutation (search.go). The evidence's cycles are its first clauses. Where
// they leave an assignment open, the graph of that assignment (graph.go) gives further cycles. Each learnt clause
// follows from others by unit propagation; it becomes a step of the refutation if the empty clause depends on it.
//
// Experimental: this package may still change.
package elaborate
