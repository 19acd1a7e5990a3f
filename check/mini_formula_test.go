package check_test

import (
	"math/rand/v2"
	"testing"

	"isovet/check"
	"isovet/datasets/hard"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// bruteForce tries all assignments.
func bruteForce(f hard.Formula) bool {
	for bits := range 1 << f.Vars {
		all := true
		for _, c := range f.Clauses {
			any := false
			for _, l := range c {
				any = any || (bits>>(max(l, -l)-1)&1 == 1) == (l > 0)
			}
			all = all && any
		}
		if all {
			return true
		}
	}
	return false
}

// TestMiniFormulaLevels: at each level that MTC's Appendix C is about the histories of hard.MiniFormula hold iff the
// formula is satisfiable; small ones by the definitions too.
func TestMiniFormulaLevels(t *testing.T) {
	levels := []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}
	replay := must.Get(check.ByName("replay"))(t)
	answers := map[bool]int{}
	for seed := range uint64(histtest.Long(4, 16)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f := hard.Formula{Vars: 1 + rng.IntN(3)}
		for n := 0; n < 2+int(seed)/2; n++ {
			var c []int
			for _, v := range rng.Perm(f.Vars)[:1+rng.IntN(f.Vars)] {
				c = append(c, (v+1)*(1-2*rng.IntN(2)))
			}
			f.Clauses = append(f.Clauses, c)
		}
		h := must.Get(hard.MiniFormula(f, seed))(t)
		sat := bruteForce(f)
		want := evidence.Violated
		if sat {
			want = evidence.Holds
		}
		answers[sat]++
		for _, l := range levels {
			r, err := check.Run(t.Context(), replay, h, check.Options{Level: l})
			must.Hold(t, err == nil && r.Verdict == want,
				"seed %d, %v at %s: %v, %v (%s); want %v", seed, f, l, r.Verdict, err, r.Reason, want)
		}
	}
	must.Be(t, min(answers[true], answers[false]) >= histtest.Long(1, 4), "%v: one answer is hardly tested", answers)
	for i, c := range []struct {
		f    hard.Formula
		want evidence.Verdict
	}{
		{hard.Formula{Vars: 1, Clauses: [][]int{{1}}}, evidence.Holds},
		{hard.Formula{Vars: 1, Clauses: [][]int{{1}, {-1}}}, evidence.Violated},
		{hard.Formula{Vars: 1, Clauses: [][]int{{1}, {1}}}, evidence.Holds},
	} {
		h := must.Get(hard.MiniFormula(c.f, 1))(t)
		for j, l := range levels {
			if (i+j)%histtest.Long(2, 1) > 0 {
				continue
			}
			r, err := oracle.Check(h, oracle.Options{Level: l, MaxTxns: 32})
			must.Be(t, err == nil && r.Verdict == c.want,
				"%v at %s: %v by definition, %v, %s; want %v", c.f, l, r.Verdict, err, r.Reason, c.want)
		}
	}
}
