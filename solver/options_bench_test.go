package solver_test

import (
	"context"
	"testing"

	"isovet/solver"
)

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
