package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
)

// hidden is a theory that knows clauses the solver does not. It uses every way of saying so that the
// interface offers, at random, and checks that the solver keeps its side of the contract.
type hidden struct {
	t       testing.TB
	name    string
	r       *rand.Rand
	s       *solver.Solver
	clauses [][]solver.Lit
	seen    []bool // by variable: observed

	told     []solver.Lit
	value    map[solver.Lit]bool
	levels   []int
	conflict bool // the last call was answered with a conflict
	reason   map[solver.Lit][]solver.Lit
	buf      []solver.Lit
	used     map[string]int
}

func (h *hidden) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("%s: %s", h.name, fmt.Sprintf(format, args...))
}

func (h *hidden) normal() {
	if h.conflict {
		h.fail("after a conflict came something else than Backtrack")
	}
}

func (h *hidden) give(c []solver.Lit) []solver.Lit {
	for i := range h.buf {
		h.buf[i] = solver.LitUndef // what was returned before is ours again
	}
	h.buf = append(h.buf[:0], c...)
	if h.buf == nil {
		h.buf = []solver.Lit{}
	}
	h.r.Shuffle(len(h.buf), func(i, j int) { h.buf[i], h.buf[j] = h.buf[j], h.buf[i] })
	return h.buf
}

func (h *hidden) isFalse(c []solver.Lit) bool {
	return !slices.ContainsFunc(c, func(l solver.Lit) bool { return !h.value[l.Not()] })
}

func (h *hidden) Assign(l solver.Lit) []solver.Lit {
	h.normal()
	if h.value[l] || h.value[l.Not()] {
		h.fail("%v was told before", l)
	}
	if !h.seen[l.Var()] {
		h.fail("%v is not observed", l)
	}
	h.value[l] = true
	h.told = append(h.told, l)
	if h.r.IntN(2) == 0 {
		for _, c := range h.clauses {
			if h.isFalse(c) {
				h.used["conflict"]++
				h.conflict = true
				return h.give(c)
			}
		}
	}
	return nil
}

func (h *hidden) NewLevel() {
	h.normal()
	h.levels = append(h.levels, len(h.told))
}

func (h *hidden) Backtrack(level int) {
	if level < 0 || level >= len(h.levels) {
		h.fail("backtrack to level %d of %d", level, len(h.levels))
	}
	h.conflict = false
	for _, l := range h.told[h.levels[level]:] {
		delete(h.value, l)
	}
	h.told = h.told[:h.levels[level]]
	h.levels = h.levels[:level]
}

func (h *hidden) Propagate() []solver.Lit {
	h.normal()
	var out []solver.Lit
	if h.r.IntN(3) == 0 {
		return nil
	}
	for _, c := range h.clauses {
		open := slice.Filter(c, func(l solver.Lit) bool { return !h.value[l.Not()] })
		open = slices.Compact(slices.Sorted(slices.Values(open)))
		switch {
		case len(open) == 1 && (!h.value[open[0]] || h.r.IntN(9) == 0):
			if !h.value[open[0]] {
				h.reason[open[0]] = c
			}
			out = append(out, open[0])
		case len(open) == 0 && len(c) > 0 && h.r.IntN(2) == 0:
			h.used["false"]++
			h.reason[c[0]] = c
			out = append(out, c[0])
		}
	}
	h.used["propagated"] += len(out)
	return out
}

func (h *hidden) Explain(l solver.Lit) []solver.Lit {
	c, ok := h.reason[l]
	if !ok {
		h.fail("%v was never propagated", l)
	}
	h.used["explained"]++
	return h.give(c)
}

func (h *hidden) Decide() solver.Lit {
	h.normal()
	if h.r.IntN(3) == 0 {
		for v := range h.seen {
			l := solver.MkLit(solver.Var(v), h.r.IntN(2) == 0)
			// A variable that is observed and not told has no value: by now all are told.
			if h.seen[v] && !h.value[l] && !h.value[l.Not()] {
				h.used["decided"]++
				return l
			}
		}
	}
	return solver.LitUndef
}

func (h *hidden) FinalCheck() [][]solver.Lit {
	h.normal()
	var out [][]solver.Lit
	for _, c := range h.clauses {
		if h.isFalse(c) {
			out = append(out, slices.Clone(c))
			if h.r.IntN(2) == 0 {
				break
			}
		}
	}
	if len(out) > 0 {
		h.used["final"]++
		if len(out[0]) > 0 && h.r.IntN(2) == 0 {
			// A definition of a new variable that may stay unobserved.
			v := h.s.NewVar()
			h.seen = append(h.seen, false)
			if h.r.IntN(2) == 0 {
				h.s.Observe(v)
				h.seen[v] = true
			}
			out = append(out, []solver.Lit{solver.Pos(v), out[0][0]}, []solver.Lit{solver.Neg(v), out[0][0].Not()})
			h.used["newvar"]++
		}
	}
	return out
}

func TestTheoryOfHiddenClauses(t *testing.T) {
	ctx := context.Background()
	answers := map[solver.Status]int{}
	used := map[string]int{}
	randtest.Seeds(t, 4000, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(50000 + seed)
		n := 2 + r.IntN(9)
		f := randomCNF(r, n, r.IntN(5*n), 3)
		open := cnf{vars: n}
		o := variants[seed%len(variants)]
		h := &hidden{
			t: t, name: fmt.Sprint("seed ", seed), r: r, seen: make([]bool, n), used: used,
			value: map[solver.Lit]bool{}, reason: map[solver.Lit][]solver.Lit{},
		}
		check := &proof.Checker{OnLemma: func(c []solver.Lit) error {
			if slices.ContainsFunc(c, func(l solver.Lit) bool { return int(l.Var()) >= n }) {
				return nil // the definition of a new variable
			}
			sorted := func(c []solver.Lit) []solver.Lit { return slices.Compact(slices.Sorted(slices.Values(c))) }
			if !slices.ContainsFunc(h.clauses, func(d []solver.Lit) bool {
				return slices.Equal(sorted(c), sorted(d))
			}) {
				return errors.New("not a hidden clause")
			}
			return nil
		}}
		o.Proof = check
		s := solver.New(o)
		h.s = s
		s.NewVars(n)
		s.SetTheory(h)
		for _, c := range f.clauses {
			if r.IntN(2) == 0 {
				open.clauses = append(open.clauses, c)
			} else {
				h.clauses = append(h.clauses, c)
			}
		}
		if seed%50 == 0 {
			h.clauses = append(h.clauses, []solver.Lit{}) // FinalCheck refuses everything
			f.clauses = append(f.clauses, nil)
		}
		observe := func() {
			for _, c := range h.clauses {
				for _, l := range c {
					s.Observe(l.Var())
					h.seen[l.Var()] = true
				}
			}
		}
		if seed%2 == 0 {
			observe()
		}
		for _, c := range open.clauses {
			s.AddClause(c...)
		}
		observe() // some have values by now
		for range 1 + r.IntN(3) {
			var as []solver.Lit
			for range r.IntN(3) {
				as = append(as, solver.Lit(r.IntN(2*n)))
			}
			want := statusOf(bruteForce(f, as...))
			answers[want]++
			got := s.Solve(ctx, as...)
			must.Equal(t, got, want, "seed %d under %v", seed, as)
			must.Equal(t, len(h.levels), 0, "seed %d: the theory's level after Solve", seed)
			if got == solver.Sat {
				must.OK(t, f.holds(s.Value), "seed %d", seed)
			} else if bruteForce(f, s.Failed()...) {
				t.Fatalf("seed %d: the failed assumptions %v have a model", seed, s.Failed())
			} else if len(s.Failed()) == 0 && !check.Refuted() {
				t.Fatalf("seed %d: not refuted: %v", seed, check.Err())
			}
			must.OK(t, check.Err(), "seed %d", seed)
			h.conflict = false // a conflict at level 0 ends the search
			s.CheckIntegrity()
		}
	})
	if randtest.Whole() && (answers[solver.Sat] < 500 || answers[solver.Unsat] < 500) {
		t.Fatalf("one-sided test: %v", answers)
	}
	for _, what := range []string{"conflict", "propagated", "false", "explained", "decided", "final", "newvar"} {
		if randtest.Whole() && used[what] < 40 {
			t.Errorf("%s happened %d times only", what, used[what])
		}
	}
}

// lazy is a theory that answers LitNone once it has seen enough, and completes by a fixed assignment.
type lazy struct {
	solver.TheoryBase
	values []bool
	stops  int
}

func (l *lazy) Decide() solver.Lit         { l.stops++; return solver.LitNone }
func (l *lazy) Complete(v solver.Var) bool { return l.values[v] }

// With a theory that accepts everything, LitNone must not let a clause be false: the solver decides on
// where the completion fails.
func TestDontCaresAreChecked(t *testing.T) {
	answers := map[solver.Status]int{}
	randtest.Seeds(t, 2000, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(90000 + seed)
		n := 1 + r.IntN(10)
		f := randomCNF(r, n, r.IntN(4*n), 3)
		want := statusOf(bruteForce(f))
		answers[want]++
		s := solver.New(variants[seed%len(variants)])
		load(s, f)
		l := &lazy{}
		for v := range n {
			l.values = append(l.values, r.IntN(2) == 0)
			if r.IntN(4) > 0 {
				s.Observe(solver.Var(v))
			}
			if r.IntN(4) == 0 {
				s.SetDecidable(solver.Var(v), false)
			}
		}
		s.SetTheory(l)
		must.Equal(t, s.Solve(context.Background()), want, "seed %d", seed)
		if want == solver.Sat {
			must.OK(t, f.holds(s.Value), "seed %d", seed)
		}
	})
	if randtest.Whole() && (answers[solver.Sat] < 300 || answers[solver.Unsat] < 300) {
		t.Fatalf("one-sided test: %v", answers)
	}
}

// TheoryBase alone is a theory that accepts everything.
type silent struct{ solver.TheoryBase }

func TestTheoryBase(t *testing.T) {
	f := random3SAT(1, 80, 4.2)
	plain := solver.New(solver.Options{})
	load(plain, f)
	s := solver.New(solver.Options{})
	load(s, f)
	s.SetTheory(silent{})
	for v := range f.vars {
		s.Observe(solver.Var(v))
	}
	if got, want := s.Solve(context.Background()), plain.Solve(context.Background()); got != want ||
		s.Stats().Conflicts != plain.Stats().Conflicts {
		t.Fatalf("%v, without a theory %v", got, want)
	}
}
