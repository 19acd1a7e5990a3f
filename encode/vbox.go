package encode

import (
	"isovet/polygraph"
	"isovet/solver"
)

// Vbox makes one variable of each open choice: true adds all edges of "A before B", false all of "B before A". There are no
// clauses. With times the first value tried is the order of the starts (Vbox §4.6 promises time guidance and leaves it open,
// errata V28), else the order of the nodes.
//
// Source:  [Vbox] §4.5, item constraints.
// Cost:    variables = choices; guards = edges of both sides.
func Vbox(p *polygraph.Polygraph) *Problem {
	q := &Problem{P: p}
	for _, c := range p.Choices {
		b := solver.Pos(q.newVar(p.WriteNode(c.A) < p.WriteNode(c.B)))
		p.Side(c.A, c.B0, func(e polygraph.Edge) bool { q.guard(b, e); return true })
		p.Side(c.B, c.A0, func(e polygraph.Edge) bool { q.guard(b.Not(), e); return true })
	}
	return q
}
