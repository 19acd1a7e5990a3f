package encode

import (
	"context"

	"isovet/solver"
	"isovet/solver/external"
)

// WithProgram has a program that knows acyclic graphs solve the problem, in MonoSAT's format, real time as auxiliary
// nodes. It finds no cycles.
func WithProgram(ctx context.Context, q *Problem, p *external.Program) Answer {
	a := Answer{Stats: Stats{Vars: q.Vars, Clauses: len(q.Clauses), Rounds: 1}}
	full := q.P.FullGraph(nil)
	g := external.Graph{Vars: q.Vars, Clauses: q.Clauses, Nodes: full.N()}
	for u := range int32(full.N()) {
		for _, v := range full.Succ(u) {
			g.Known = append(g.Known, [2]int32{u, v})
		}
	}
	for _, e := range q.Guards {
		g.Edges = append(g.Edges, external.Edge{From: e.Edge.From, To: e.Edge.To, Lit: e.Lit})
	}
	status, model, err := g.Solve(ctx, p)
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
