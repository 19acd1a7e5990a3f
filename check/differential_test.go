package check

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
)

// TestAgainstBruteForce holds every checker × solver against the oracle on thousands of tiny histories; Run certifies
// each answer on the way.
func TestAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](192, 6000)
	verdicts := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History {
		// which has thin-air reads and ends of unknown transactions; random.Tiny has snapshots and coarse clocks
		h := random.Few(seed)
		if seed%2 == 1 {
			h = random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%3 == 0, Unknown: seed%5 > 2,
				NoTimes: seed%8 == 1})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.OrderLevels {
			want, err := Run(context.Background(), bruteForce{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, c := range All() {
				in := c.Info()
				if in.Hidden || in.Timestamps || !slices.Contains(in.Levels, l) || in.Name == "elle" {
					continue // elle decides lists: TestListsAgainstBruteForce
				}
				solvers := in.Solvers
				if len(solvers) == 0 {
					solvers = []string{""}
				} else if seed%4 != 0 {
					solvers = []string{in.Solvers[int(seed)%len(in.Solvers)]}
				}
				for _, s := range solvers {
					got, err := Run(context.Background(), c, h, Options{Level: l, Solver: s})
					if err != nil {
						t.Fatalf("seed %d, %s, %s:%s: %v\n%s", seed, l, in.Name, s, err, notation.Format(h))
					}
					incomplete := got.Verdict == evidence.Unknown && (in.Name == "elle-register" &&
						strings.HasPrefix(got.Reason, "incomplete") || orderOpen(in, got))
					if got.Verdict != want.Verdict && !incomplete {
						t.Fatalf("seed %d, %s: %s:%s says %s (%s), brute force %s\n%s", seed, l, in.Name, s,
							got.Verdict, got.Reason, want.Verdict, notation.Format(h))
					}
					verdicts[in.Name+" "+got.Verdict.String()]++
				}
			}
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts["vbox valid"] < int(n)/4 || verdicts["vbox violation"] < int(n)/4) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}

// orderOpen reports whether a checker that needs version orders says that they are not known.
func orderOpen(in Info, r *evidence.Result) bool {
	return in.Partial && r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason,
		"the order of versions is not known")
}
