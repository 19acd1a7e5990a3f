package solver_test

import (
	"context"
	"testing"
	"time"

	"isovet/internal/test/must"
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
	must.Equal(t, s.Solve(ctx), solver.Sat, "no clauses")
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
	// A lazy loop: three edges in a ring are wished for; the clause for their cycle comes when it is seen.
	w := s.NewVars(3)
	ring := []solver.Lit{solver.Pos(w), solver.Pos(w + 1), solver.Pos(w + 2)}
	seen := 0
	for ; s.Solve(ctx, ring...) == solver.Sat; seen++ {
		s.AddClause(ring[0].Not(), ring[1].Not(), ring[2].Not())
	}
	if got := s.Solve(ctx, ring[:2]...); seen != 1 || got != solver.Sat || s.Value(w+2) {
		t.Fatalf("the cycle came %d times, then %v %v", seen, got, s.Value(w+2))
	}
	if s.AddClause() || s.Solve(ctx) != solver.Unsat {
		t.Fatal("the empty clause leaves a model")
	}
}
