package solver_test

import (
	"context"
	"testing"
	"time"

	"isovet/solver"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

// TestForms: our solver and those behind its interface take clauses of every form.
func TestForms(t *testing.T) {
	for name, s := range map[string]solver.Backend{"ours": solver.New(solver.Options{}), "gini": gini.New(),
		"gophersat": gophersat.New()} {
		t.Run(name, func(t *testing.T) { forms(t, s) })
	}
}

func forms(t *testing.T, s solver.Backend) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if got := s.Solve(ctx); got != solver.Sat {
		t.Fatalf("no clauses: %v", got)
	}
	v := s.NewVars(4)
	s.AddClause(solver.Pos(v), solver.Pos(v), solver.Neg(v+1))
	s.AddClause(solver.Pos(v+2), solver.Neg(v+2))
	s.AddClause(solver.Pos(v + 1))
	if got := s.Solve(ctx); got != solver.Sat || !s.Value(v) || !s.Value(v+1) {
		t.Fatalf("%v %v %v", got, s.Value(v), s.Value(v+1))
	}
	if got := s.Solve(ctx, solver.Neg(v)); got != solver.Unsat || s.Value(v+1) {
		t.Fatalf("%v; a model is left: %v", got, s.Value(v+1))
	}
	if got := s.Solve(ctx, solver.Pos(v+3), solver.Pos(v)); got != solver.Sat || !s.Value(v+3) {
		t.Fatalf("a variable in no clause, assumed: %v %v", got, s.Value(v+3))
	}
}
