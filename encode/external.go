package encode

import (
	"context"

	"isovet/solver"
	"isovet/solver/external"
)

// WithProgram solves the problem with another program, in MonoSAT's format (which knows acyclic graphs) or in SMT-LIB
// (with numbers). Auxiliary nodes represent real time. Its answer has no cycles.
func WithProgram(ctx context.Context, q *Problem, p *external.Program) Answer {
	a := Answer{Stats: Stats{Theory: TheoryOwn, Vars: q.Vars, Clauses: len(q.Clauses), Rounds: 1}}
	status, model, err := q.graph().Solve(ctx, p)
	if err != nil {
		a.Reason = err.Error()
		return a
	}
	if a.Status = status; status == solver.Sat {
		a.Edges = q.chosen(func(v solver.Var) bool { return model[v] })
		if _, ok := q.P.Order(a.Edges); !ok {
			return Answer{Reason: p.Name + ": its model has a cycle", Stats: a.Stats}
		}
	}
	return a
}
