package encode

import (
	"isovet/polygraph"
	"isovet/solver"
)

// NewVar makes a variable of an encoding outside this package; phase is the first value to try.
func (q *Problem) NewVar(phase bool) solver.Var { return q.newVar(phase) }

// When puts an edge into the graph wherever a literal is true.
func (q *Problem) When(l solver.Lit, e polygraph.Edge) { q.guard(l, e) }
