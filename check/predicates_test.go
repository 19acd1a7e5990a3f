package check

import (
	"context"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
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

// vbox says of tiny histories with predicates what brute force says, at the three serializable levels; it is undecided
// only where an outcome is open. Run certifies each answer.
func TestVboxPredicates(t *testing.T) {
	seeds := histtest.Long[uint64](110, 30000)
	var decided, undecided [3]int
	for _, o := range predicateOptions {
		histtest.Each(t, seeds, func(seed uint64) *history.History { return random.Tiny(seed, o) }, func(t testing.TB,
			seed uint64, h *history.History) {
			if o.Predicates && !h.HasPredicates() {
				return
			}
			for _, l := range run.SerialLevels {
				want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
				if err != nil {
					t.Fatal(err)
				}
				got, err := Run(context.Background(), run.Vbox{}, h, Options{Level: l})
				if err != nil {
					t.Fatalf("%+v seed %d, %s: %v", o, seed, l, err)
				}
				if got.Verdict == evidence.Unknown {
					if !strings.Contains(got.Reason, "is unknown") && !strings.HasPrefix(got.Reason,
						"no order explains") && want.Verdict != evidence.Unknown {
						t.Fatalf("%+v seed %d, %s: unknown: %s", o, seed, l, got.Reason)
					}
					undecided[want.Verdict]++
					continue
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("%+v seed %d, %s: %s; brute force says %s", o, seed, l, got.Verdict, want.Verdict)
				}
				decided[want.Verdict]++
			}
		})
	}
	t.Logf("decided %v, undecided %v (unknown, valid, violation)", decided, undecided)
	if histtest.Whole() && (decided[evidence.Holds] == 0 || decided[evidence.Violated] == 0) {
		t.Error("not both verdicts came up")
	}
}

// tinyPredicates is a tiny history with predicates, or nil.
func tinyPredicates(seed uint64, o random.Options) *history.History {
	if h := random.Tiny(seed, o); h.HasPredicates() {
		return h
	}
	return nil
}

// vbox agrees with replay on larger histories of equal values, deletes and predicates, with and without times; Run
// certifies both.
func TestVboxAmbiguousMedium(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](25, 1000), func(seed uint64) *history.History {
		o := random.Options{Txns: 25, Keys: 8, Duplicates: seed%3 > 0, Deletes: true, Predicates: seed%2 == 0,
			NoTimes: seed%4 == 1, Aborted: true}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := random.Options{Txns: 25, Keys: 8, Duplicates: seed%3 > 0, Deletes: true, Predicates: seed%2 == 0,
			NoTimes: seed%4 == 1, Aborted: true}
		for _, l := range run.SerialLevels {
			want, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("%+v seed %d, %s: %v", o, seed, l, err)
			}
			got, err := Run(context.Background(), run.Vbox{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("%+v seed %d, %s: %v", o, seed, l, err)
			}
			if got.Verdict != want.Verdict {
				t.Fatalf("%+v seed %d, %s: vbox says %s (%s), replay %s (%s)", o, seed, l, got.Verdict, got.Reason,
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
