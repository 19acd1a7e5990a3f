// Package acyclic keeps guarded edges acyclic: theories for package solver.
//
// # The problem
//
// A directed graph has known edges, which are acyclic, and guards: literal → edge. While a literal is true its edges
// are in the graph. The theory rejects assignments whose graph has a cycle. A literal may guard many edges, and an edge
// may be guarded by many literals.
//
// # Three ways
//
// [PK] keeps a topological order (Pearce and Kelly, isovet/internal/graph/order). An edge that goes forward costs a
// comparison. The order is never undone, for an order of a graph is an order of every subgraph. It also tells which
// choices need no decision at all: while no node moves, a variable with a side of only forward edges is a don't-care.
//
// [Closure] keeps reachability (isovet/closure). Every question is one look-up, so it can tell of each undecided
// literal whether its edges would close a cycle, and then make it false, as Vbox does.
//
// [Window] does the same for many more guards: a mask beside each row says which new bits concern a guard, so that no
// guard is looked at for nothing. It needs no times; its windows come from the known edges.
//
// All three explain themselves alike: by a clause of the negations of the literals that guard the edges of a cycle,
// found by a 0-1 breadth-first search with as few literals as possible. Known edges have no literal. Literals true at
// level 0 cost nothing in the search but are named, so that every clause follows from the guards alone.
//
// # Files
//
//   - theory.go: guards, levels, conflicts, explanations: the shared part
//   - pk.go, closure.go, window.go: the three ways; window_build.go: the rows at the beginning
//   - reach.go: reachability in windows that never change; lemmas.go: the cycles behind clauses, for proofs
//
// Sources: Vbox (arXiv:2503.05163) §4.6, with errata V20 (several literals an edge; reasons for propagated literals)
// and V25 (undo); D. Pearce, P. Kelly, A dynamic topological sort algorithm for directed acyclic graphs, JEA 11 (2006).
//
// Experimental: this package may still change.
package acyclic
