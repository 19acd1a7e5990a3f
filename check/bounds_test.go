package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// low sets bounds to 1, or to what stands behind them, for the time of a test.
func low(names ...string) (restore func()) {
	var undo []func()
	for _, name := range names {
		to := 1
		if name == "run.firstCuts" || name == "run.moreCuts" {
			to = 0
		}
		undo = append(undo, bounds.Set(name, to))
	}
	return func() {
		for _, f := range undo {
			f()
		}
	}
}

// together are bounds that are set at once: none, all, and those that others hide.
func together() [][]string {
	crowd := []string{"run.fewPairs", "run.fewTimed"} // the choices of a pair of writes or more are not all listed
	sets := [][]string{nil, crowd, bounds.Names(), {"run.firstCuts", "run.moreCuts"},
		{"check.fewVersions", "check.manyVersions"}, {"check.fewChoices", "check.fewWork"}}
	for _, name := range []string{"run.maxPairs", "run.narrowWords", "run.fewLeft"} {
		sets = append(sets, append(slices.Clone(crowd), name))
	}
	for _, name := range bounds.Names() {
		sets = append(sets, []string{name})
	}
	return sets
}

// TestBoundsAtOne sets each bound to 1 and asks every checker at every level that it has: no fault, and the verdict of
// brute force or none.
func TestBoundsAtOne(t *testing.T) {
	sets := together()
	decided, open := map[string]int{}, map[string]int{}
	histtest.Each(t, histtest.Long[uint64](4, 4000), func(seed uint64) *history.History {
		var h *history.History
		switch seed % 4 {
		case 0, 1:
			h = random.Tiny(seed, random.Options{Txns: 6, Keys: 2, Ops: 3, Unknown: seed&8 != 0,
				Duplicates: seed&16 != 0, Deletes: seed&32 != 0})
		case 2:
			h = random.Tiny(seed, random.Options{Txns: 5, Keys: 3, Ops: 3, Predicates: true, NoTimes: seed&8 != 0})
		default:
			h = oracletest.Random(seed, oracletest.Shape{Txns: 6, Keys: 2, Sessions: 3, Ops: 3, Lists: true, Init: true,
				Duplicates: seed&8 != 0})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range level.All() {
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				continue // too large, or not of the level's kind
			}
			for _, c := range All() {
				if i := c.Info(); !slices.Contains(i.Levels, l) {
					continue
				}
				for i, set := range sets {
					if i > 2 && (i+len(c.Info().Name)+int(l))%histtest.Long(3, 1) > 0 {
						continue
					}
					name := strings.Join(set[:min(len(set), 3)], " ")
					restore := low(set...)
					r, err := Run(context.Background(), c, h, Options{Level: l})
					restore()
					what := fmt.Sprintf("seed %d, %s at %s, bound %s", seed, c.Info().Name, l, name)
					if err != nil {
						t.Fatalf("%s: %v\n%s", what, err, notation.Format(h))
					}
					if r.Verdict == evidence.Unknown {
						if r.Reason == "" {
							t.Fatalf("%s: unknown, and no reason\n%s", what, notation.Format(h))
						}
						open[name]++
						continue
					}
					if want.Verdict != evidence.Unknown && !r.Timestamps && r.Verdict != want.Verdict {
						t.Fatalf("%s: %s, brute force %s\n%s", what, r.Verdict, want.Verdict, notation.Format(h))
					}
					decided[name]++
				}
			}
		}
	})
	t.Log("decided:", decided, "open:", open)
	for name, n := range decided {
		histtest.Mix(t, n < histtest.Long(30, 100), "bound %s: %d decided only", name, n)
	}
}
