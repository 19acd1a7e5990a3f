package gophersat_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"isovet/solver"
	"isovet/solver/gophersat"
)

// A lazy loop: three edges in a ring are wished for; the clause for their cycle comes when it is seen.
func Example() {
	s := gophersat.New()
	v := s.NewVars(3) // a<b, b<c, c<a
	ring := []solver.Lit{solver.Pos(v), solver.Pos(v + 1), solver.Pos(v + 2)}
	ctx := context.Background()
	for s.Solve(ctx, ring...) == solver.Sat {
		fmt.Println("a cycle:", s.Value(v), s.Value(v+1), s.Value(v+2))
		s.AddClause(ring[0].Not(), ring[1].Not(), ring[2].Not())
	}
	fmt.Println(s.Solve(ctx, ring[:2]...), s.Value(v+2))
	fmt.Println(s.AddClause(), s.Solve(ctx))
	// Output:
	// a cycle: true true true
	// sat false
	// false unsat
}

func TestForms(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := gophersat.New()
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
