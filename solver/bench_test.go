package solver_test

import (
	"context"
	"fmt"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

// families are fixed sets of formulas. The answers of our solver and gini are compared in
// TestFamiliesAgree, those of one run with the first inside the benchmark.
func families() map[string][]cnf {
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

var backends = []struct {
	name string
	make func() solver.Backend
}{
	{"isovet", func() solver.Backend { return solver.New(solver.Options{}) }},
	{"gini", func() solver.Backend { return gini.New() }},
	{"gophersat", func() solver.Backend { return gophersat.New() }},
}

func BenchmarkRandom3SAT(b *testing.B)  { benchFamily(b, "random3sat") }
func BenchmarkPigeonhole8(b *testing.B) { benchFamily(b, "php8") }
func BenchmarkPigeonhole9(b *testing.B) { benchFamily(b, "php9") }
func BenchmarkOrder(b *testing.B)       { benchFamily(b, "order") }

func BenchmarkLooseOrder(b *testing.B) { benchFamily(b, "looseorder") }

func benchFamily(b *testing.B, name string) {
	forms := families()[name]
	for _, back := range backends {
		b.Run(fmt.Sprintf("family=%s/solver=%s", name, back.name), func(b *testing.B) {
			var first []solver.Status
			conflicts := int64(0)
			for b.Loop() {
				for i, f := range forms {
					s := back.make()
					load(s, f)
					got := s.Solve(context.Background())
					if len(first) <= i {
						first = append(first, got)
					}
					if got != first[i] || got == solver.Unknown {
						b.Fatalf("formula %d: %v, before %v", i, got, first[i])
					}
					if s, ok := s.(*solver.Solver); ok {
						conflicts += s.Stats().Conflicts
					}
				}
			}
			if conflicts > 0 {
				b.ReportMetric(float64(conflicts)/float64(b.N), "conflicts/op")
			}
			sat := 0
			for _, st := range first {
				if st == solver.Sat {
					sat++
				}
			}
			b.ReportMetric(float64(sat), "sat")
		})
	}
}

// Never a different answer from gini's, and every refutation checks. The whole of the large families
// needs ISOVET_LONG=1.
func TestFamiliesAgree(t *testing.T) {
	for name, forms := range families() {
		if !histtest.Long(false, true) {
			switch name {
			case "php8", "php9":
				continue
			case "random3sat":
				forms = forms[:1]
			case "looseorder", "order":
				forms = forms[:2]
			}
		}
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
				if err := f.holds(s.Value); err != nil {
					t.Errorf("%s %d: %v", name, i, err)
				}
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
	forms := families()
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
