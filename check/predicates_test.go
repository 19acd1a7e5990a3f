package check

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
)

// predicateOptions are the kinds of tiny histories with predicates that checkers are compared with brute force on.
var predicateOptions = []random.Options{
	{Predicates: true},
	{Predicates: true, Txns: 4, Keys: 3},
	{Predicates: true, Deletes: true},
	{Predicates: true, Aborted: true, Unknown: true},
	{Predicates: true, Deletes: true, Aborted: true, Unknown: true, NoTimes: true},
	{Predicates: true, Keys: 4, Ops: 3, Sessions: 4},
	{Predicates: true, Deletes: true, Duplicates: true},
	{Deletes: true, Duplicates: true, Keys: 2},
	{Deletes: true, Duplicates: true, Aborted: true, Unknown: true},
}

// tinyPredicates is a tiny history with predicates, or nil.
func tinyPredicates(seed uint64, o random.Options) *history.History {
	if h := random.Tiny(seed, o); h.HasPredicates() {
		return h
	}
	return nil
}

// TestPredicatesAgainstBruteForce: vbox and viper say of tiny histories with predicates what brute force says, at their
// levels, viper with each solver and encoding in turn; they are undecided only where an outcome is open. Run certifies
// each answer.
func TestPredicatesAgainstBruteForce(t *testing.T) {
	for name, kinds := range map[string][]random.Options{"vbox": predicateOptions, "viper": predicateOptions[:7]} {
		var decided, undecided [3]int
		open := 0 // with choices or constraints left to a solver
		in := called(name).Info()
		for _, o := range kinds {
			histtest.Each(t, histtest.Long[uint64](100, 30_000), func(seed uint64) *history.History {
				return random.Tiny(seed, o)
			}, func(t testing.TB, seed uint64, h *history.History) {
				if o.Predicates && !h.HasPredicates() {
					return
				}
				for i, l := range in.Levels {
					want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
					opts, c := Options{Level: l}, called(name)
					if turn := int(seed) + i; name == "viper" {
						opts.Solver = in.Solvers[turn%len(in.Solvers)]
						if turn%2 == 1 {
							opts.Pipeline.Encoding = FormulaEncodings()[turn/2%len(FormulaEncodings())]
						}
					}
					got := answer(t, c, h, opts)
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
		t.Logf("%s: decided %v, undecided %v (unknown, valid, violation), %d with a solver", name, decided, undecided,
			open)
		histtest.Mix(t, decided[evidence.Holds] < 100 || decided[evidence.Violated] < 100 || open < 100,
			"%s: the mix is lopsided", name)
	}
}

// TestPredicatesMedium: vbox and viper agree with replay on larger histories of predicates, equal values and deletes,
// with and without times; Run certifies all.
func TestPredicatesMedium(t *testing.T) {
	for name, options := range map[string]func(seed uint64) random.Options{
		"vbox": func(seed uint64) random.Options {
			return random.Options{Duplicates: seed%3 > 0, Deletes: true, Predicates: seed%2 == 0}
		},
		"viper": func(seed uint64) random.Options {
			return random.Options{Duplicates: seed%3 == 0, Deletes: seed%2 == 0, Predicates: true}
		},
	} {
		c, verdicts := called(name), map[evidence.Verdict]int{}
		histtest.Each(t, histtest.Long[uint64](28, 1000), func(seed uint64) *history.History {
			o := options(seed)
			o.Txns, o.Keys, o.NoTimes, o.Aborted = 25, 8, seed%4 == 1, true
			return random.Medium(seed, o)
		}, func(t testing.TB, seed uint64, h *history.History) {
			for _, l := range c.Info().Levels {
				want := answer(t, run.Replay{}, h, Options{Level: l})
				got := answer(t, c, h, Options{Level: l})
				agree(t, got, want.Verdict)
				verdicts[got.Verdict]++
			}
		})
		histtest.Mix(t, verdicts[evidence.Holds] < 10 || verdicts[evidence.Violated] < 10,
			"%s: the mix is lopsided: %v", name, verdicts)
	}
}

// TestPredicateCertificates: certificates with predicate edges, of vbox and of replay, are written, read again against
// the history and replayed; one in which an edge names another version that the operation was based on, or the other
// kind of predicate edge, is refused.
func TestPredicateCertificates(t *testing.T) {
	seen := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](300, 10_000), func(seed uint64) *history.History {
		return tinyPredicates(seed, predicateOptions[[]int{1, 5}[seed%2]])
	}, func(t testing.TB, seed uint64, h *history.History) {
		if h == nil {
			return
		}
		for _, c := range []Checker{run.Vbox{}, run.Replay{}} {
			for _, l := range run.SerialLevels {
				r := answer(t, c, h, Options{Level: l})
				if r.Verdict == evidence.Unknown {
					continue
				}
				var b bytes.Buffer
				must.OK(t, evidence.WriteCertificate(&b, r), "seed %d", seed)
				text := b.String()
				again, err := evidence.ReadCertificate(strings.NewReader(text), h)
				if err == nil {
					err = certify.Check(again, certify.Options{})
				}
				if err != nil {
					t.Fatalf("seed %d, %s, %s: %v\n%s\n%s", seed, c.Info().Name, l, err, text, notation.Format(h))
				}
				seen[r.Verdict.String()]++
				for i := range again.Anomalies {
					a := &again.Anomalies[i]
					for _, cycle := range append([][]evidence.Edge{a.Cycle}, a.Cycles...) {
						for j := range cycle {
							e := &cycle[j]
							if e.Dep != evidence.PRW && e.Dep != evidence.PWR {
								continue
							}
							seen[fmt.Sprint(e.Dep)]++
							whole := *e
							e.Dep = evidence.PRW + evidence.PWR - e.Dep
							refused(t, again, seed, "an edge of the other kind")
							*e = whole
							e.From, e.To = e.To, e.From
							refused(t, again, seed, "an edge the other way round")
							*e = whole
						}
					}
				}
			}
		}
	})
	t.Log(seen)
	for _, k := range []string{"valid", "violation", fmt.Sprint(evidence.PRW), fmt.Sprint(evidence.PWR)} {
		histtest.Mix(t, seen[k] < 6, "%s came up %d times only", k, seen[k])
	}
}

func refused(t testing.TB, r *evidence.Result, seed uint64, what string) {
	t.Helper()
	if certify.Check(r, certify.Options{}) == nil {
		t.Errorf("seed %d: %s is certified\n%s", seed, what, notation.Format(r.H))
	}
}

// TestBookingCertificates: a booking history of some size, with inserts, deletes and phantoms, from either checker to
// verify.
func TestBookingCertificates(t *testing.T) {
	for _, isolation := range []string{"serializable", "snapshot-isolation", "repeatable-read"} {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "booking", Txns: 600, Seed: 3,
			Isolation: isolation}))(t)
		for _, c := range []Checker{run.Vbox{}, run.Replay{}} {
			r := answer(t, c, h, Options{})
			want := evidence.Violated
			if isolation == "serializable" {
				want = evidence.Holds
			}
			if r.Verdict != want {
				t.Errorf("%s: %s says %s (%s)", isolation, c.Info().Name, r.Verdict, r.Reason)
				continue
			}
			var b bytes.Buffer
			must.OK(t, evidence.WriteCertificate(&b, r))
			again, err := evidence.ReadCertificate(&b, h)
			if err == nil {
				err = certify.Check(again, certify.Options{})
			}
			if err != nil {
				t.Errorf("%s, %s: %v", isolation, c.Info().Name, err)
			}
		}
	}
}
