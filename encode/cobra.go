package encode

import (
	"isovet/polygraph"
	"isovet/solver"
)

// Cobra makes one variable for each pair of nodes between which some choice could add an edge, and one for each choice,
// which implies all edges of the side chosen.
//
// Source:  [Cobra] §4.2; [Vbox] Eq. 4.
// Differs: Eq. 4 also forbids that all edges of the other side are present; that half never matters (errata V3).
// Cost:    variables = choices + distinct edges; clauses = edges of both sides of each choice.
func Cobra(p *polygraph.Polygraph) *Problem {
	q := &Problem{P: p}
	of := make(map[[2]int32]solver.Lit)
	edge := func(e polygraph.Edge) solver.Lit {
		k := [2]int32{e.From, e.To}
		l, ok := of[k]
		if !ok {
			l = solver.Pos(q.newVar(false))
			of[k] = l
		}
		return l
	}
	choice := make([]solver.Lit, 0, len(p.Choices))
	implied := func(b solver.Lit, e polygraph.Edge) {
		l := edge(e)
		q.Clauses = append(q.Clauses, []solver.Lit{b.Not(), l})
		q.guard(l, e)
	}
	for _, c := range p.Choices {
		b := solver.Pos(q.newVar(p.Sooner(c.A, c.B)))
		choice = append(choice, b)
		side := func(x, y uint32, b solver.Lit) {
			p.Side(x, y, func(e polygraph.Edge) bool {
				implied(b, e)
				return true
			})
		}
		side(c.A, c.B0, b)
		side(c.B, c.A0, b.Not())
	}
	q.Predicates(choice, implied)
	return q
}
