// Package acyclic keeps guarded edges acyclic: theories for package solver.
//
// # The problem
//
// A directed graph of known edges, acyclic, and guards: literal → edge. While a literal is true its
// edges are in the graph. The theory rejects assignments whose graph has a cycle. A literal may carry
// many edges, an edge may be carried by many literals.
//
// # Three ways
//
// [PK] keeps a topological order (Pearce and Kelly, isovet/internal/graph/order). An edge that goes forward
// costs a comparison. The order is never undone: an order of a graph is an order of every subgraph.
// It also answers which choices need no decision at all: a variable one of whose sides has only
// forward edges is a don't-care while nothing moves.
//
// [Closure] keeps reachability (isovet/closure). Every question is one look-up, so that it can tell of
// each undecided literal whether it would close a cycle, and decide it otherwise, as Vbox does.
//
// [Window] does the same for many more guards: a mask beside each row says which new bits concern a
// guard, so that none is looked at for nothing. It needs no times; its windows come from the known edges.
//
// All explain themselves in the same words: a clause of the negations of the literals that carry the
// edges of a cycle, found by a 0-1 breadth-first search with as few literals as possible. Known edges
// carry none; literals true at level 0 weigh nothing but are named, so that every clause is true of
// the guards alone.
//
// # Files
//
//   - theory.go: guards, levels, conflicts, explanations: what the ways share
//   - pk.go, closure.go, window.go: the three ways; window_build.go: rows as they begin
//
// Sources: Vbox (arXiv:2503.05163) §4.6, with errata V20 (several literals an edge; reasons for
// propagated literals) and V25 (undo); D. Pearce, P. Kelly, A dynamic topological sort algorithm for
// directed acyclic graphs, JEA 11 (2006).
//
// Experimental: this package may still change.
package acyclic
