package encode

import (
	"isovet/polygraph"
	"isovet/solver"
)

// NewVar makes a variable for an encoding outside this package; phase is the value to try first.
func (q *Problem) NewVar(phase bool) solver.Var { return q.newVar(phase) }

// When makes e an edge of the graph in every model in which l is true.
func (q *Problem) When(l solver.Lit, e polygraph.Edge) { q.guard(l, e) }
