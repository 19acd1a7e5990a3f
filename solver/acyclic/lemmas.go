package acyclic

import (
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
	"isovet/solver"
)

// Lemmas finds the cycles behind a theory's clauses after the search, for proofs that must justify each clause.
type Lemmas struct {
	guards  []Guard
	off, by []int32           // literal → its guards
	known   map[[2]int32]bool // the edges of the clause at hand
}

// NewLemmas returns the Lemmas of a theory with these guards, whose literals have so many variables.
func NewLemmas(guards []Guard, vars int) *Lemmas {
	l := &Lemmas{guards: guards, known: make(map[[2]int32]bool)}
	l.off, l.by = graph.Group(slice.Map(guards, func(g Guard) int32 { return int32(g.Lit) }), 2*vars)
	return l
}

// Cycle adds to an order of the known edges, one after the other, the guards whose literals the clause c negates. It
// returns the first guard that closes a cycle, and the path from its end back to its beginning; ok is false if none
// does. Guards on the path have the tag −1−i; all other tags are the order's. The order is left as it was; the path is
// valid until its next search. Cost: that of the edges added, and a search between the positions of the guard's ends.
func (l *Lemmas) Cycle(ord *order.Order, c []solver.Lit) (closing int32, path []order.Edge, ok bool) {
	defer ord.Undo(ord.Mark())
	clear(l.known)
	for _, x := range c {
		x = x.Not()
		for _, i := range l.by[l.off[x]:l.off[x+1]] {
			g := l.guards[i]
			if l.known[[2]int32{g.From, g.To}] {
				continue // of several guards of an edge the first explains it
			}
			l.known[[2]int32{g.From, g.To}] = true
			if ord.AddEdge(g.From, g.To, -1-i) {
				path, ok = ord.Path(g.To, g.From, nil)
				return i, path, ok
			}
		}
	}
	return 0, nil, false
}
