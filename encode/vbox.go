package encode

import (
	"isovet/polygraph"
	"isovet/solver"
)

// Vbox makes one variable of each open choice: true adds all edges of "A before B", false all of "B before A". There
// are no clauses. The first value tried is the order that the polygraph's hint suggests (Vbox §4.6 promises time
// guidance and leaves it open, errata V28). For predicate constraints see predicates.go.
//
// Source:  [Vbox] §4.5, item constraints.
// Cost:    variables = choices; guards = edges of both sides.
func Vbox(p *polygraph.Polygraph) *Problem {
	q := &Problem{P: p}
	choice := make([]solver.Lit, 0, len(p.Choices))
	for _, c := range p.Choices {
		b := solver.Pos(q.newVar(p.Sooner(c.A, c.B)))
		choice = append(choice, b)
		p.Side(c.A, c.B0, func(e polygraph.Edge) bool { q.guard(b, e); return true })
		p.Side(c.B, c.A0, func(e polygraph.Edge) bool { q.guard(b.Not(), e); return true })
	}
	q.Predicates(choice, q.guard)
	return q
}
