package check

import (
	"context"
	"fmt"
	"strings"

	"isovet/encode"
	"isovet/solver"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

// Solver is a way to have a problem solved: a back end, and how it keeps the graph acyclic.
type Solver struct {
	Name  string
	About string
	solve func(ctx context.Context, q *encode.Problem) encode.Answer
}

// maxEager bounds the clauses of the eager order encoding, which grow with the cube of the transactions in question.
const maxEager = 20_000_000

// eagerly solves the eager order encoding of the problem's polygraph in place of the problem.
func eagerly(b func() solver.Backend) func(context.Context, *encode.Problem) encode.Answer {
	return func(ctx context.Context, q *encode.Problem) encode.Answer {
		if n := encode.OrderClauses(q.P); n > maxEager {
			return encode.Answer{Reason: fmt.Sprintf("the eager order encoding would have %d clauses, more than %d", n, maxEager)}
		}
		a := encode.Eager(ctx, encode.Order(q.P), b())
		if a.Status == solver.Unsat {
			// Its clauses refute without a cycle to show; the lazy loop finds those that the explanation starts from.
			a.Cycles = encode.Lazy(ctx, encode.Vbox(q.P), solver.New(solver.Options{})).Cycles
		}
		return a
	}
}

// Solvers returns all of them, the default first; a new back end is one line here.
func Solvers() []Solver {
	lazily := func(b func() solver.Backend) func(context.Context, *encode.Problem) encode.Answer {
		return func(ctx context.Context, q *encode.Problem) encode.Answer { return encode.Lazy(ctx, q, b()) }
	}
	return []Solver{
		{"cdcl", "isovet's own CDCL with the compact closure as theory (Vbox §4.6)", encode.WithClosure},
		{"cdcl-pk", "isovet's own CDCL with a Pearce-Kelly order as theory", encode.WithOrder},
		{"cdcl-lazy", "isovet's own CDCL, a clause for each cycle found in a model", lazily(func() solver.Backend { return solver.New(solver.Options{}) })},
		{"gini", "github.com/go-air/gini, a clause for each cycle found in a model", lazily(func() solver.Backend { return gini.New() })},
		{"gophersat", "github.com/crillab/gophersat, a clause for each cycle found in a model", lazily(func() solver.Backend { return gophersat.New() })},
		{"gini-eager", "gini on the eager order encoding, cubic in the transactions in question (errata V26)", eagerly(func() solver.Backend { return gini.New() })},
		{"gophersat-eager", "gophersat on the eager order encoding", eagerly(func() solver.Backend { return gophersat.New() })},
	}
}

func solverNames() []string {
	var names []string
	for _, s := range Solvers() {
		names = append(names, s.Name)
	}
	return names
}

// solverByName finds a solver; "" is the default.
func solverByName(name string) (Solver, error) {
	all := Solvers()
	if name == "" {
		return all[0], nil
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return Solver{}, fmt.Errorf("unknown solver %q; expected one of %s", name, strings.Join(solverNames(), ", "))
}
