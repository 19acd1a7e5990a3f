package solver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

type cnf struct {
	vars    int
	clauses [][]solver.Lit
}

func rng(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 77)) }

// randomCNF makes clauses of 1 to width literals, mostly width.
func randomCNF(r *rand.Rand, vars, clauses, width int) cnf {
	f := cnf{vars: vars}
	for range clauses {
		n := width
		if r.IntN(4) == 0 {
			n = 1 + r.IntN(width)
		}
		c := make([]solver.Lit, n)
		for i := range c {
			c[i] = solver.Lit(r.IntN(2 * vars))
		}
		f.clauses = append(f.clauses, c)
	}
	return f
}

// random3SAT makes clauses of three different variables.
func random3SAT(seed, vars int, ratio float64) cnf {
	r := rng(seed)
	f := cnf{vars: vars}
	for range int(ratio * float64(vars)) {
		p := r.Perm(vars)[:3]
		c := make([]solver.Lit, 3)
		for i, v := range p {
			c[i] = solver.MkLit(solver.Var(v), r.IntN(2) == 0)
		}
		f.clauses = append(f.clauses, c)
	}
	return f
}

// pigeonhole says that holes+1 pigeons sit in holes holes, each alone.
func pigeonhole(holes int) cnf {
	f := cnf{vars: (holes + 1) * holes}
	at := func(p, h int) solver.Lit { return solver.Pos(solver.Var(p*holes + h)) }
	for p := 0; p <= holes; p++ {
		var c []solver.Lit
		for h := range holes {
			c = append(c, at(p, h))
		}
		f.clauses = append(f.clauses, c)
	}
	for h := range holes {
		for p := 0; p <= holes; p++ {
			for q := p + 1; q <= holes; q++ {
				f.clauses = append(f.clauses, []solver.Lit{at(p, h).Not(), at(q, h).Not()})
			}
		}
	}
	return f
}

// orderCNF asks for a total order of n elements (one variable a pair, transitivity clauses) in which,
// for each of m random triples (x y z), y is not between x and z, as another writer may not be between
// a version's writer and its reader, or, one time in three, y is between them. Deciding this is
// NP-complete (betweenness); m = 2.2n is where some have an answer and some have not.
func orderCNF(seed, n, m int) cnf {
	r := rng(seed)
	f, before := totalOrder(n)
	for range m {
		p := r.Perm(n)
		a, b := before(p[0], p[1]), before(p[2], p[1]) // alike: p[1] is not between
		if r.IntN(3) == 0 {
			b = b.Not()
		}
		f.clauses = append(f.clauses, []solver.Lit{a, b.Not()}, []solver.Lit{a.Not(), b})
	}
	return f
}

// looseOrderCNF asks for a total order of n elements that satisfies m random clauses of three order
// literals. Sparser to propagate than orderCNF, so harder to search.
func looseOrderCNF(seed, n, m int) cnf {
	r := rng(seed)
	f, before := totalOrder(n)
	for range m {
		var c []solver.Lit
		for range 3 {
			p := r.Perm(n)
			c = append(c, before(p[0], p[1]))
		}
		f.clauses = append(f.clauses, c)
	}
	return f
}

// totalOrder says that its variables, one for each pair, are a total order of n elements; before
// names the literals.
func totalOrder(n int) (f cnf, before func(i, j int) solver.Lit) {
	f = cnf{vars: n * (n - 1) / 2}
	before = func(i, j int) solver.Lit {
		if i > j {
			i, j = j, i
			return solver.Neg(solver.Var(i*(2*n-i-1)/2 + j - i - 1))
		}
		return solver.Pos(solver.Var(i*(2*n-i-1)/2 + j - i - 1))
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			for k := i + 1; k < n; k++ {
				if j != k {
					f.clauses = append(f.clauses, []solver.Lit{before(i, j).Not(), before(j, k).Not(),
						before(k, i).Not()})
				}
			}
		}
	}
	return f, before
}

func load(b solver.Backend, f cnf) {
	b.NewVars(f.vars)
	for _, c := range f.clauses {
		if !b.AddClause(c...) {
			return
		}
	}
}

func (f cnf) holds(value func(solver.Var) bool) error {
next:
	for _, c := range f.clauses {
		for _, l := range c {
			if value(l.Var()) != l.IsNeg() {
				continue next
			}
		}
		return fmt.Errorf("clause %v is false in the model", c)
	}
	return nil
}

// bruteForce tries every assignment.
func bruteForce(f cnf, extra ...solver.Lit) bool {
	for m := 0; m < 1<<f.vars; m++ {
		val := func(v solver.Var) bool { return m>>v&1 != 0 }
		ok := true
		for _, l := range extra {
			ok = ok && val(l.Var()) != l.IsNeg()
		}
		if ok && f.holds(val) == nil {
			return true
		}
	}
	return false
}

func statusOf(sat bool) solver.Status {
	if sat {
		return solver.Sat
	}
	return solver.Unsat
}

// variants are settings that must not change an answer. The small reductions make rare paths common.
var variants = []solver.Options{
	{},
	{NoMinimize: true, NoPhaseSaving: true, NoReduce: true},
	{NoBinaryMinimize: true, LubyUnit: 1, ReduceFirst: 4, ReduceGrowth: 1, Seed: 5},
	{Restart: solver.RestartGlue, ReduceFirst: 3, ReduceGrowth: 1, NoSimplify: true},
	{NoRestarts: true, Heuristic: solver.HeuristicStatic, ReduceFirst: 2, ReduceGrowth: 1},
	{NoReuseTrail: true, LubyUnit: 2, VarDecay: 0.7},
}

func TestBruteForce(t *testing.T) {
	ctx := context.Background()
	answers := map[solver.Status]int{}
	randtest.Seeds(t, 4000, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(seed)
		n := 1 + r.IntN(12)
		f := randomCNF(r, n, r.IntN(5*n+2), 1+r.IntN(4))
		want := statusOf(bruteForce(f))
		answers[want]++
		o := variants[seed%len(variants)]
		check := &proof.Checker{}
		o.Proof = check
		s := solver.New(o)
		load(s, f)
		got := s.Solve(ctx)
		must.Equal(t, got, want, "seed %d", seed)
		if got == solver.Sat {
			must.OK(t, f.holds(s.Value), "seed %d", seed)
		}
		must.Hold(t, got != solver.Unsat || check.Refuted(), "seed %d: the proof does not refute", seed)
		must.OK(t, check.Err(), "seed %d", seed)
		s.CheckIntegrity()
	})
	if randtest.Whole() && (answers[solver.Sat] < 500 || answers[solver.Unsat] < 500) {
		t.Fatalf("one-sided test: %v", answers)
	}
}

// TestFullArena: a solver without room for a clause gives no answer, or a right one, and says so.
func TestFullArena(t *testing.T) {
	ctx := context.Background()
	full, found := 0, 0
	randtest.Seeds(t, 4000, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(seed)
		n := 1 + r.IntN(12)
		f := randomCNF(r, n, r.IntN(5*n+2), 1+r.IntN(4))
		want := statusOf(bruteForce(f))
		o := variants[seed%len(variants)]
		o.MaxArena = 1 + r.IntN(80)
		s := solver.New(o)
		load(s, f)
		got := s.Solve(ctx)
		switch {
		case got == want:
			found++
		case got != solver.Unknown:
			t.Fatalf("seed %d: %v, brute force says %v", seed, got, want)
		case !s.Exhausted() || s.Solve(ctx) != solver.Unknown:
			t.Fatalf("seed %d: no answer, and no reason", seed)
		default:
			full++
		}
		if got == solver.Sat {
			must.OK(t, f.holds(s.Value), "seed %d", seed)
		}
	})
	if randtest.Whole() && (full < 500 || found < 500) {
		t.Fatalf("one-sided test: %d without room, %d answers", full, found)
	}
}

// Mid-size formulas: all solvers say the same, models hold, and refutations check.
func TestAgreesWithOthers(t *testing.T) {
	ctx := context.Background()
	var forms []cnf
	for seed := range randtest.Long(24, 40) {
		forms = append(forms, random3SAT(seed, 50+seed%50, 4.26))
	}
	for seed := range randtest.Long(18, 30) {
		forms = append(forms, orderCNF(seed, 8+seed%6, 16+seed))
	}
	for n := 2; n <= 6; n++ {
		forms = append(forms, pigeonhole(n))
	}
	answers := map[solver.Status]int{}
	for i, f := range forms {
		g := gini.New()
		load(g, f)
		want := g.Solve(ctx)
		h := gophersat.New()
		load(h, f)
		must.Equal(t, h.Solve(ctx), want, "formula %d: gophersat", i)
		answers[want]++
		for k, o := range variants {
			check := &proof.Checker{}
			o.Proof = check
			s := solver.New(o)
			load(s, f)
			got := s.Solve(ctx)
			must.Equal(t, got, want, "formula %d, variant %d", i, k)
			if check.Err() != nil || check.Refuted() != (got == solver.Unsat) {
				t.Fatalf("formula %d, variant %d: refuted %v, %v", i, k, check.Refuted(), check.Err())
			}
			if got == solver.Sat {
				must.OK(t, f.holds(s.Value), "formula %d, variant %d", i, k)
				for name, b := range map[string]solver.Backend{"gini": g, "gophersat": h} {
					must.OK(t, f.holds(b.Value), "formula %d: %s", i, name)
				}
			}
		}
	}
	must.Hold(t, answers[solver.Sat] >= 12 && answers[solver.Unsat] >= 12, "one-sided test: %v", answers)
}

// Random sequences of NewVars, AddClause and Solve under assumptions, against brute force.
func TestIncremental(t *testing.T) {
	ctx := context.Background()
	answers := map[solver.Status]int{}
	randtest.Seeds(t, 600, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(1000 + seed)
		o := variants[seed%len(variants)]
		check := &proof.Checker{}
		o.Proof = check
		backs := map[string]solver.Backend{}
		s := solver.New(o)
		backs["ours"] = s
		if seed%4 == 0 {
			backs["gini"] = gini.New()
			backs["gophersat"] = gophersat.New()
		}
		f := cnf{}
		for step := range 25 {
			switch k := r.IntN(6); {
			case f.vars == 0 || k == 0 && f.vars < 9:
				n := 1 + r.IntN(3)
				for name, b := range backs {
					must.Same(t, int(b.NewVars(n)), f.vars, "seed %d: %s numbers the new variables from", seed, name)
				}
				f.vars += n
			case k < 4:
				more := randomCNF(r, f.vars, 1+r.IntN(4), 3)
				f.clauses = append(f.clauses, more.clauses...)
				for _, b := range backs {
					for _, c := range more.clauses {
						b.AddClause(c...)
					}
				}
			default:
				var as []solver.Lit
				for range r.IntN(5) {
					as = append(as, solver.Lit(r.IntN(2*f.vars)))
				}
				want := statusOf(bruteForce(f, as...))
				answers[want]++
				for name, b := range backs {
					got := b.Solve(ctx, as...)
					must.Equal(t, got, want, "seed %d, step %d: %s under %v", seed, step, name, as)
					if got != solver.Sat {
						continue
					}
					must.OK(t, f.holds(b.Value), "seed %d, step %d: %s", seed, step, name)
					for _, a := range as {
						if b.Value(a.Var()) == a.IsNeg() {
							t.Fatalf("seed %d, step %d: %s: assumption %v is false", seed, step, name, a)
						}
					}
				}
				if want == solver.Unsat {
					checkFailed(t, seed, f, s, as, check)
				}
				must.OK(t, check.Err(), "seed %d", seed)
				s.CheckIntegrity()
			}
		}
	})
	if randtest.Whole() && (answers[solver.Sat] < 300 || answers[solver.Unsat] < 300) {
		t.Fatalf("one-sided test: %v", answers)
	}
}

func checkFailed(t testing.TB, seed int, f cnf, s *solver.Solver, as []solver.Lit, check *proof.Checker) {
	t.Helper()
	given := slice.Set(as)
	failed := s.Failed()
	neg := map[solver.Lit]bool{}
	for _, a := range failed {
		must.Hold(t, given[a], "seed %d: failed %v contains %v, which was not assumed", seed, failed, a)
		neg[a.Not()] = true
	}
	must.Hold(t, !bruteForce(f, failed...), "seed %d: the failed assumptions %v have a model", seed, failed)
	if len(failed) == 0 {
		must.Hold(t, check.Refuted(), "seed %d: unsatisfiable without assumptions, but not refuted", seed)
		return
	}
	for _, l := range check.Last() {
		if !neg[l] {
			t.Fatalf("seed %d: proof ends with %v, failed are %v", seed, check.Last(), failed)
		}
	}
}

func TestEdgeCases(t *testing.T) {
	ctx := context.Background()
	s := solver.New(solver.Options{})
	must.Equal(t, s.Solve(ctx), solver.Sat, "the empty formula")
	v := s.NewVar()
	s.SetPhase(v, true)
	if s.Solve(ctx) != solver.Sat || !s.Value(v) {
		t.Fatal("the initial phase is not the first value tried")
	}
	if !s.AddClause(solver.Pos(v), solver.Neg(v)) || !s.AddClause(solver.Neg(v), solver.Neg(v)) {
		t.Fatal("a tautology or a repetition is a contradiction")
	}
	if s.Solve(ctx, solver.Pos(v)) != solver.Unsat || len(s.Failed()) != 1 {
		t.Fatalf("failed: %v", s.Failed())
	}
	w := s.NewVar()
	if s.Solve(ctx, solver.Pos(w), solver.Neg(w)) != solver.Unsat || len(s.Failed()) != 2 {
		t.Fatalf("failed: %v", s.Failed())
	}
	if s.Solve(ctx, solver.Pos(w), solver.Pos(w), solver.Neg(v)) != solver.Sat || !s.Value(w) || s.Value(v) {
		t.Fatal("repeated assumptions")
	}
	if s.AddClause() || s.Solve(ctx) != solver.Unsat || len(s.Failed()) != 0 || s.AddClause(solver.Pos(w)) {
		t.Fatal("the empty clause leaves a model")
	}
}

func TestSameSeedSameRun(t *testing.T) {
	f := random3SAT(3, 120, 4.26)
	var first solver.Stats
	for i := range 2 {
		s := solver.New(solver.Options{Seed: 9})
		load(s, f)
		s.Solve(context.Background())
		if i == 0 {
			first = s.Stats()
		} else if first != s.Stats() {
			t.Fatalf("%+v\n%+v", first, s.Stats())
		}
	}
}
