package solver_test

import (
	"context"
	"testing"
	"time"

	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

func TestStops(t *testing.T) {
	hard := pigeonhole(13)
	for name, b := range map[string]solver.Backend{
		"ours": solver.New(solver.Options{}), "gini": gini.New(), "gophersat": gophersat.New(),
	} {
		load(b, hard)
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
		must.Equal(t, b.Solve(ctx), solver.Unknown, "%s at the deadline", name)
		cancel()
		must.Equal(t, b.Solve(ctx), solver.Unknown, "%s after the deadline", name)
	}
	s := solver.New(solver.Options{ConflictBudget: 100})
	load(s, hard)
	for i := int64(1); i <= 3; i++ {
		if got := s.Solve(context.Background()); got != solver.Unknown || s.Stats().Conflicts != 100*i {
			t.Fatalf("%v after %d conflicts with a budget of 100, call %d", got, s.Stats().Conflicts, i)
		}
	}
	enough := solver.New(solver.Options{Enough: func(conflicts int64) bool { return conflicts%150 == 0 }})
	load(enough, hard)
	for i := int64(1); i <= 3; i++ {
		if got := enough.Solve(context.Background()); got != solver.Unknown || enough.Stats().Conflicts != 150*i {
			t.Fatalf("%v after %d conflicts where each 150th is enough, call %d", got, enough.Stats().Conflicts, i)
		}
	}
	var left [2]int64
	for i := range left { // the same steps each time, of the context above too, which has half of them left
		s := solver.New(solver.Options{})
		load(s, hard)
		above, ended := solver.WithSteps(context.Background(), 100_000)
		ctx, end := solver.HalfSteps(above)
		if got := s.Solve(ctx); got != solver.Unknown || end() > 0 || above.Err() != nil {
			t.Fatalf("%v where steps ran out: %v", got, above.Err())
		}
		left[i] = ended()
	}
	if left[0] != left[1] || left[0] > 50_000 || left[0] < 40_000 {
		t.Errorf("%d steps are left; want the same twice, about half of 100,000", left)
	}
	// The solver is still good for an easier question.
	easy := hard.clauses[0][0]
	s.AddClause(easy)
	must.Equal(t, s.Solve(context.Background(), easy.Not()), solver.Unsat, "after the budget ran out")
}

// allTrue is a theory that wants all variables true, and says so of all of them at once; asked why for the stop-th time
// it ends the search.
type allTrue struct {
	solver.TheoryBase
	n, asked, stop int
	end            func()
}

func (a *allTrue) Assign(l solver.Lit) []solver.Lit {
	if l.IsNeg() {
		return []solver.Lit{l.Not()}
	}
	return nil
}

func (a *allTrue) Propagate() (out []solver.Lit) {
	if a.asked == 0 { // once only: what is forgotten is refused by Assign
		for v := range a.n {
			out = append(out, solver.Pos(solver.Var(v)))
		}
	}
	return out
}

func (a *allTrue) Explain(l solver.Lit) []solver.Lit {
	if a.asked++; a.asked == a.stop {
		a.end()
	}
	return []solver.Lit{l}
}

// TestStopsWhileExplaining: where a proof wants the reason of each of many literals, a search that has ended asks for
// no more of them, and can be gone on with.
func TestStopsWhileExplaining(t *testing.T) {
	const n, stop = 1000, 7
	s := solver.New(solver.Options{Proof: &proof.Checker{}})
	s.NewVars(n)
	ctx, cancel := context.WithCancel(t.Context())
	a := &allTrue{n: n, stop: stop, end: cancel}
	s.SetTheory(a)
	for v := range n {
		s.Observe(solver.Var(v))
	}
	if got := s.Solve(ctx); got != solver.Unknown || a.asked != stop {
		t.Fatalf("%v after %d reasons, ended by the %dth", got, a.asked, stop)
	}
	must.Equal(t, s.Solve(t.Context()), solver.Sat, "when it goes on")
	for v := range n {
		must.Hold(t, s.Value(solver.Var(v)), "variable %d is false", v)
	}
}
