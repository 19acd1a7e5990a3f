package check

import (
	"context"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
)

// viper says of tiny histories with predicates what brute force says, at the three snapshot levels, with each solver
// and encoding in turn; it is undecided only where an outcome is open. Run certifies each answer.
func TestViperPredicates(t *testing.T) {
	seeds := histtest.Long[uint64](80, 20_000)
	var decided, undecided [3]int
	open := 0 // with choices or constraints left to a solver
	in := called("viper").Info()
	for _, o := range predicateOptions[:7] {
		make := func(seed uint64) *history.History { return tinyPredicates(seed, o) }
		histtest.Each(t, seeds, make, func(t testing.TB, seed uint64, h *history.History) {
			if h == nil {
				return
			}
			for i, l := range run.SnapshotLevels {
				want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				turn := int(seed) + i
				opts := Options{Level: l, Solver: in.Solvers[turn%len(in.Solvers)]}
				if turn%2 == 1 {
					opts.Pipeline.Encoding = FormulaEncodings()[turn/2%len(FormulaEncodings())]
				}
				c := called("viper")
				if seed%4 == 3 {
					c = called("viper-sessions")
				}
				got, err := Run(context.Background(), c, h, opts)
				if err != nil {
					t.Fatalf("%+v seed %d, %s, %+v: %v\n%s", o, seed, l, opts, err, notation.Format(h))
				}
				if got.Stats.Variables > 0 {
					open++
				}
				if got.Verdict == evidence.Unknown {
					if want.Verdict != evidence.Unknown && !strings.Contains(got.Reason, "is unknown") &&
						!strings.HasPrefix(got.Reason, "no order explains") {
						t.Fatalf("%+v seed %d, %s: unknown: %s", o, seed, l, got.Reason)
					}
					undecided[want.Verdict]++
					continue
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("%+v seed %d, %s, %+v: %s; brute force says %s\n%s", o, seed, l, opts, got.Verdict,
						want.Verdict, notation.Format(h))
				}
				decided[want.Verdict]++
			}
		})
	}
	t.Logf("decided %v, undecided %v (unknown, valid, violation), %d with a solver", decided, undecided, open)
	if histtest.Whole() && (decided[evidence.Holds] < 100 || decided[evidence.Violated] < 100 || open < 100) {
		t.Error("the mix is lopsided")
	}
}

// viper agrees with replay on larger histories of predicates, with and without times; Run certifies both.
func TestViperPredicatesMedium(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](30, 1000), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 25, Keys: 8, Predicates: true, Deletes: seed%2 == 0,
			NoTimes: seed%4 == 1, Duplicates: seed%3 == 0, Aborted: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.SnapshotLevels {
			want, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			got, err := Run(context.Background(), called("viper"), h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: viper says %s (%s), replay %s (%s)", seed, l, got.Verdict, got.Reason,
					want.Verdict, want.Reason)
			}
			verdicts[got.Verdict]++
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts[evidence.Holds] < 10 || verdicts[evidence.Violated] < 10) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}
