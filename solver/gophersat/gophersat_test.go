package gophersat_test

import (
	"context"
	"fmt"

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
