package solver_test

import (
	"context"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
	"isovet/solver/gini"
)

// families are fixed sets of formulas, or a few small ones of them. The answers of our solver and gini are compared in
// TestFamiliesAgree, those of one run with the first inside the benchmark.
func families(few bool) map[string][]cnf {
	if few {
		return map[string][]cnf{"random3sat": {random3SAT(0, 120, 4.26)},
			"order":      {orderCNF(0, 20, 30), orderCNF(1, 21, 36)},
			"looseorder": {looseOrderCNF(0, 20, 120), looseOrderCNF(1, 21, 147)}}
	}
	f := map[string][]cnf{"php8": {pigeonhole(8)}, "php9": {pigeonhole(9)}}
	for seed := range 60 {
		f["random3sat"] = append(f["random3sat"], random3SAT(seed, 200, 4.26))
	}
	for seed := range 40 {
		n := 20 + seed%11
		f["order"] = append(f["order"], orderCNF(seed, n, n*(6+seed%4)/4))
	}
	for seed := range 120 {
		n := 20 + seed%5
		f["looseorder"] = append(f["looseorder"], looseOrderCNF(seed, n, n*(6+seed%6)))
	}
	return f
}

// Never a different answer from gini's, and every refutation checks. The whole of the large families
// needs ISOVET_LONG=1.
func TestFamiliesAgree(t *testing.T) {
	for name, forms := range families(histtest.Long(true, false)) {
		for i, f := range forms {
			g := gini.New()
			load(g, f)
			want := g.Solve(context.Background())
			check := &proof.Checker{}
			s := solver.New(solver.Options{Proof: check})
			load(s, f)
			got := s.Solve(context.Background())
			if got != want || check.Err() != nil || check.Refuted() != (got == solver.Unsat) {
				t.Errorf("%s %d: %v, gini says %v; refuted: %v, %v", name, i, got, want, check.Refuted(), check.Err())
			}
			if got == solver.Sat {
				must.OK(t, f.holds(s.Value), "%s %d", name, i)
			}
		}
	}
}

// techniques are the options that leave a technique out, or put another in its place: what the comments at the
// heuristics cite is measured with these.
var techniques = []struct {
	name string
	opts solver.Options
}{
	{"default", solver.Options{}},
	{"no-minimize", solver.Options{NoMinimize: true}},
	{"no-binary-minimize", solver.Options{NoBinaryMinimize: true}},
	{"no-phase-saving", solver.Options{NoPhaseSaving: true}},
	{"no-restarts", solver.Options{NoRestarts: true}},
	{"no-reuse-trail", solver.Options{NoReuseTrail: true}},
	{"no-reduce", solver.Options{NoReduce: true}},
	{"no-simplify", solver.Options{NoSimplify: true}},
	{"restart-glue", solver.Options{Restart: solver.RestartGlue}},
	{"luby-32", solver.Options{LubyUnit: 32}},
	{"luby-512", solver.Options{LubyUnit: 512}},
	{"decay-0.80", solver.Options{VarDecay: 0.80}},
	{"decay-0.99", solver.Options{VarDecay: 0.99}},
	{"reduce-2000-300", solver.Options{ReduceFirst: 2000, ReduceGrowth: 300}},
	{"reduce-300-30", solver.Options{ReduceFirst: 300, ReduceGrowth: 30}},
}

// BenchmarkTechniques runs ten formulas of each family with each technique left out. Conflicts and propagations do not
// depend on the machine: go test ./solver -run '^$' -bench Techniques -benchtime 1x.
func BenchmarkTechniques(b *testing.B) {
	forms := families(false)
	for _, family := range []string{"random3sat", "php8", "php9", "order", "looseorder"} {
		for _, t := range techniques {
			b.Run("family="+family+"/"+t.name, func(b *testing.B) {
				var conflicts, propagations int64
				for b.Loop() {
					for _, f := range forms[family][:min(len(forms[family]), 10)] {
						o := t.opts
						o.ConflictBudget = 1 << 20
						s := solver.New(o)
						load(s, f)
						s.Solve(context.Background())
						conflicts += s.Stats().Conflicts
						propagations += s.Stats().Propagations
					}
				}
				b.ReportMetric(float64(conflicts)/float64(b.N), "conflicts/op")
				b.ReportMetric(float64(propagations)/float64(b.N), "propagations/op")
			})
		}
	}
}
