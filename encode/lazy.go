package encode

import (
	"context"

	"isovet/polygraph"
	"isovet/solver"
)

// lazyCycles bounds the cycles forbidden in one round. Solvers that do not know the graph start with models full of
// cycles: with 64 a round, gophersat took twenty times as long on histories of 200 transactions.
const lazyCycles = 4096

// Lazy solves a problem with any solver: solve, look for cycles among the chosen edges, add a clause against each, and
// solve again until a model is acyclic or there is no model. It terminates, since each round forbids the model that it
// got. On Unsat the cycles are the proof. Cost: a linear search of the whole graph per round, besides the solver's.
func Lazy(ctx context.Context, q *Problem, b solver.Backend) Answer {
	a := Answer{Status: solver.Unsat, Stats: Stats{Theory: TheoryLazy, Vars: q.Vars, Clauses: len(q.Clauses)}}
	ok := q.load(b)
	for ok {
		a.Stats.Rounds++
		a.Status = b.Solve(ctx)
		if a.Status != solver.Sat {
			break
		}
		edges := q.chosen(b.Value)
		cycles := q.cycles(edges)
		if len(cycles) == 0 {
			a.Edges = edges
			break
		}
		a.Status = solver.Unsat
		for _, c := range cycles {
			var clause []solver.Lit
			for _, e := range c {
				if i, open := polygraph.OpenIndex(e.By); open {
					clause = append(clause, q.Guards[i].Lit.Not())
				}
			}
			a.Cycles = append(a.Cycles, c)
			a.Stats.Clauses++
			ok = b.AddClause(clause...) && ok
		}
	}
	a.count(b)
	return a
}

// cycles returns short cycles through chosen edges, none only if the graph is acyclic.
func (q *Problem) cycles(chosen []polygraph.Edge) [][]polygraph.Edge {
	comp, n := q.P.Components(chosen)
	size := make([]int32, n)
	for _, c := range comp {
		size[c]++
	}
	var out [][]polygraph.Edge
	var f *polygraph.Finder
	for _, e := range chosen {
		if e.From != e.To && (comp[e.From] != comp[e.To] || size[comp[e.From]] < 2) {
			continue
		}
		if f == nil {
			f = q.P.NewFinder(chosen)
		}
		c := comp[e.From]
		path, ok := f.Path(e.To, e.From, func(x *polygraph.Edge) bool { return comp[x.To] == c })
		if !ok {
			continue
		}
		out = append(out, append([]polygraph.Edge{e}, path...))
		if len(out) == lazyCycles {
			break
		}
	}
	return out
}
