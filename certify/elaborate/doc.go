// Package elaborate puts isovet's answers into the terms of the kernel (package kernel), so that an answer need not be
// trusted, nor whoever found it: for "valid" the order, for "violation" a refutation. docs/trust.md says what is then
// trusted, this package's translation of histories among it (history.go, scene.go); what it makes of evidence is not,
// since the kernel judges it.
//
// A violation's anomaly names transactions and keys. From them comes a scene: what those read, who can have written it,
// and what else bears on it. A scene is a history on its own, and violated only if the whole is: it has, of each
// transaction and key, all operations, or its writes, or none; and where a read is in it, all are who can have written
// what was read, so that an order of the whole is one of the scene, with what is not in it left out. Of a list it may
// have some elements only, of which it then has all appends and reads.
//
// At read committed, read atomic and causal an order needs the writers of all reads beside it (weak.go), and a
// refutation is found by the graph of an assignment alone (weakrefute.go).
//
// Of an answer about the database's timestamps the order is that of the timestamps, and a violation is one thing that
// is wrong in it (stamps.go).
//
// The refutation is found by search with learning (search.go): the evidence's cycles are its first clauses, and where
// they leave an assignment open, the graph of that assignment (graph.go) gives cycles that do not. Each clause learnt
// follows from others by unit propagation, and becomes a step of the refutation if the empty clause rests on it.
//
// Experimental: this package may still change.
package elaborate
