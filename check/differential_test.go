package check

import (
	"context"
	"slices"
	"strings"
	"testing"

	_ "isovet/check/papers" // are among All
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
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
			want := answer(t, bruteForce{}, h, Options{Level: l})
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
					got := answer(t, c, h, Options{Level: l, Solver: s})
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
	histtest.Mix(t, verdicts["vbox valid"] < int(n)/4 || verdicts["vbox violation"] < int(n)/4,
		"the mix is lopsided: %v", verdicts)
}

// orderOpen reports whether a checker that needs version orders says that they are not known.
func orderOpen(in Info, r *evidence.Result) bool {
	return in.Partial && r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason,
		"the order of versions is not known")
}

// bruteForce is the oracle as a checker: every order, by definition. The naive twin of all others.
type bruteForce struct{}

func (bruteForce) Info() Info {
	return Info{Name: "oracle", Levels: slices.Concat(run.SerialLevels, run.SnapshotLevels),
		Takes: Takes{Items: true, Predicates: run.OrderLevels, Lists: run.ListsBeside, Unknown: run.OutcomesDecided,
			Duplicates: true}}
}

func (bruteForce) Check(_ context.Context, h *history.History, o Options) (*evidence.Result, error) {
	return oracle.Check(h, oracle.Options{Level: o.Level, ClockSkew: o.ClockSkew})
}

// answer is what a checker answers, certified.
func answer(t testing.TB, c Checker, h *history.History, o Options) *evidence.Result {
	r, err := Run(t.Context(), c, h, o)
	if err != nil {
		t.Helper()
		t.Fatalf("%s:%s at %s: %v\n%s", c.Info().Name, o.Solver, o.Level, err, notation.Format(h))
	}
	return r
}

// agree demands an answer's verdict.
func agree(t testing.TB, r *evidence.Result, want evidence.Verdict) {
	if r.Verdict != want {
		t.Helper()
		t.Fatalf("%s:%s says %s (%s) at %s; want %s\n%s", r.Checker, r.Solver, r.Verdict, r.Reason, r.Label(), want,
			notation.Format(r.H))
	}
}

// called is the checker of a name.
func called(name string) Checker {
	return must.Have(ByName(name))
}

// TestIgnorePredicates: who takes item operations only refuses predicates, and ignores them when told to: what it says
// then is what brute force says of the history told without predicates, and a violation is one of the whole. Others
// decide predicates as ever.
func TestIgnorePredicates(t *testing.T) {
	verdicts := map[[2]evidence.Verdict]int{} // of the items, of the whole
	answered, unknown := map[string]int{}, map[string]int{}
	histtest.Each(t, histtest.Long[uint64](110, 10_000), func(seed uint64) *history.History {
		return tinyPredicates(seed, predicateOptions[seed%2])
	}, func(t testing.TB, seed uint64, h *history.History) {
		if h == nil {
			return
		}
		for i, l := range slices.Concat(run.SerialLevels, run.SnapshotLevels) {
			if i >= 3 && seed%4 != 0 {
				break
			}
			whole := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			items := must.Get(oracle.Check(history.Items(h), oracle.Options{Level: l, VerdictOnly: true}))(t)
			if items.Verdict == evidence.Violated && whole.Verdict != evidence.Violated {
				t.Fatalf("seed %d, %s: the items are a violation, the whole is %s\n%s", seed, l, whole.Verdict,
					notation.Format(h))
			}
			verdicts[[2]evidence.Verdict{items.Verdict, whole.Verdict}]++
			for _, c := range Deciding(l) {
				in := c.Info()
				if in.Hidden || in.Timestamps || in.Name == "replay" {
					continue
				}
				only := !in.TakesPredicates(l)
				if ignored := only && in.Takes.Items; ignored {
					answered[in.Name]++
				}
				r := answer(t, c, h, Options{Level: l, IgnorePredicates: true})
				want := items.Verdict
				if !only {
					want = whole.Verdict
				}
				if r.Verdict == evidence.Unknown {
					unknown[in.Name]++
				}
				if r.Verdict != want && r.Verdict != evidence.Unknown {
					t.Fatalf("seed %d: %s says %s (%s) at %s; want %s\n%s", seed, c.Info().Name, r.Verdict, r.Reason,
						r.Label(), want, notation.Format(h))
				}
				must.Same(t, strings.HasPrefix(r.Label(), "items:"), only, "%s answers about %s", c.Info().Name,
					r.Label())
				if only && seed < 10 {
					if r, err := Run(context.Background(), c, h, Options{Level: l}); err != nil ||
						r.Verdict != evidence.Unknown || !strings.Contains(r.Reason, "predicate operations") &&
						in.Takes.Items {
						t.Errorf("%s decides predicates: %v, %v", c.Info().Name, r, err)
					}
				}
			}
		}
	})
	t.Log(verdicts, answered, unknown)
	for name, n := range answered {
		histtest.Mix(t, n < 6 || unknown[name] > n*9/10, "%s: %d of %d are unknown", name, unknown[name], n)
	}
	if histtest.Whole() && verdicts[[2]evidence.Verdict{evidence.Holds, evidence.Violated}] < 6 {
		t.Error("no predicate matters here")
	}
}

// TestItemsOnly: who takes items and no predicates says why, and nobody else does.
func TestItemsOnly(t *testing.T) {
	for _, c := range All() {
		in := c.Info()
		if only := in.Takes.Items && len(in.Takes.Predicates) == 0; only != (in.Takes.ItemsOnly != "") {
			t.Errorf("%s takes predicates at %v, and says %q", in.Name, in.Takes.Predicates, in.Takes.ItemsOnly)
		}
	}
}

// TestItems: what is left of a history without predicates is all of it.
func TestItems(t *testing.T) {
	histtest.Each(t, uint64(300), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Deletes: true, Aborted: true, Unknown: true, Duplicates: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		must.Same(t, notation.Format(history.Items(h)), notation.Format(h), "seed %d became", seed)
	})
}
