package check

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestSweep draws workload, skew, size and times, and asks replay, vbox and what auto takes: no fault, no violation of
// what the store ran serially, no two checkers that disagree. A few hundred transactions by default; up to 300,000 in
// the long run (ISOVET_LONG=1), where replay's bounds of real size are reached and vbox has more pairs than it may
// list.
func TestSweep(t *testing.T) {
	sizes, limit, rounds := []int{60, 300, 1000}, 3*time.Second, uint64(24)
	if histtest.Long(false, true) {
		sizes, limit, rounds = []int{1000, 10_000, 80_000, 300_000}, 20*time.Second, 300
	}
	works := []struct{ name, variant string }{
		{"mix", "write-heavy"}, {"mix", "read-heavy"}, {"blindw", "WR"}, {"blindw", "WH"}, {"contended", ""},
		{"rmw", "plain"}, {"smallbank", ""},
		{"tpcc", ""}, {"rubis", ""}, {"ycsb", "A"}, {"gt", "cobra"}, {"ctwitter", ""}, {"longfork", ""},
		{"mini", "zipf"},
	}
	decided := 0
	randtest.Seeds(t, rounds, func(t testing.TB, i uint64) {
		w := works[i%uint64(len(works))]
		s := datasets.Spec{
			Workload: w.name, Variant: w.variant, Txns: sizes[i/uint64(len(works))%uint64(len(sizes))],
			Sessions: []int{24, 3, 100}[i%3], Seed: i,
			Isolation: []string{"serializable", "serializable", "snapshot-isolation", "read-committed"}[i/2%4],
		}
		if i%5 > 0 {
			s.Times = datasets.NoTimes
		}
		if w.name == "mix" || w.name == "gt" {
			s.Zipf = []float64{0.8, 1.05, 1.2, 1.5}[i%4]
		}
		h := must.Get(datasets.Generate(t.Context(), s))(t)
		for _, l := range []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
			level.SnapshotIsolation} {
			if l.RealTime() && s.Times == datasets.NoTimes {
				continue
			}
			checkers := []Checker{run.Replay{}, run.Vbox{}}
			if c, ok := Auto(h, l); ok {
				checkers = append(checkers, c)
			}
			seen := map[evidence.Verdict]string{}
			for _, c := range checkers {
				if !slices.Contains(c.Info().Levels, l) {
					continue
				}
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				r, err := Run(ctx, c, h, Options{Level: l})
				cancel()
				what := fmt.Sprintf("%+v, %s at %s", s, c.Info().Name, l)
				must.OK(t, err, "%s", what)
				if r.Verdict == evidence.Violated && s.Isolation == "serializable" {
					t.Fatalf("%s: a violation of what was run serially", what)
				}
				if r.Verdict == evidence.Unknown {
					t.Logf("%s: %s", what, r.Reason)
					continue
				}
				decided++
				seen[r.Verdict] = what
			}
			if len(seen) > 1 {
				t.Fatalf("%s: valid; %s: a violation", seen[evidence.Holds], seen[evidence.Violated])
			}
		}
	})
	histtest.Mix(t, decided < 40, "%d decided only", decided)
}
