package acyclic

import (
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/solver"
)

// Lemmas finds the cycles behind a theory's clauses, once the search is over, for proofs that must justify each clause.
type Lemmas struct {
	guards  []Guard
	off, by []int32           // literal → its guards
	known   map[[2]int32]bool // the edges of the clause at hand
}

// NewLemmas is for the clauses of a theory with these guards, whose literals are of so many variables.
func NewLemmas(guards []Guard, vars int) *Lemmas {
	l := &Lemmas{guards: guards, known: make(map[[2]int32]bool)}
	lits := make([]int32, len(guards))
	for i, g := range guards {
		lits[i] = int32(g.Lit)
	}
	l.off, l.by = graph.Group(lits, 2*vars)
	return l
}

// Cycle returns the guard that closes a cycle where the guards of the literals that clause c denies are added to an
// order of the known edges one after the other, and the path from its end back to its beginning. Guards on the path
// have the tag −1−i; all other tags are the order's. ok is false if there is no cycle. The order is left as it was; the
// path is valid until its next search. Cost: that of the edges added, and a search between the positions of the guard's
// ends.
func (l *Lemmas) Cycle(ord *order.Order, c []solver.Lit) (closing int32, path []order.Edge, ok bool) {
	mark := ord.Mark()
	defer ord.Undo(mark)
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
