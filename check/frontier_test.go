package check_test

import (
	"context"
	"testing"
	"time"

	"isovet/check/frontier"
	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestFrontierAgainstBruteForce: same verdict as every order tried by definition; and an order that is found is one.
func TestFrontierAgainstBruteForce(t *testing.T) {
	var yes, no int
	histtest.Each(t, uint64(6000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 6, Unknown: seed%2 == 0, Aborted: seed%3 == 0,
			Deletes: seed%5 == 0, Duplicates: seed%4 < 2, NoTimes: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		want := must.Get(oracle.Check(h, oracle.Options{Level: level.SessionSerializable}))(t)
		a := frontier.Search(t.Context(), v, frontier.Options{})
		if got := a.Status == frontier.Found; got != (want.Verdict == evidence.Holds) || a.Status != frontier.Found &&
			a.Status != frontier.None {
			t.Fatalf("seed %d: %v; brute force says %v\n%s", seed, a.Status, want.Verdict, notation.Format(h))
		}
		if a.Status == frontier.None {
			no++
			return
		}
		yes++
		in := slice.Set(a.Order)
		if n := len(in); n != len(a.Order) || n < v.NumCounts || n > v.NumCounts+len(v.Open) {
			t.Fatalf("seed %d: order %v of %d transactions", seed, a.Order, v.NumCounts)
		}
	})
	histtest.Mix(t, yes < 1000 || no < 200, "%d with an order, %d without", yes, no)
}

// TestFewFrontiers: k sessions of n transactions that do not touch each other need no search; a refutation visits no
// frontier twice: at most (n+1)^k of them.
func TestFewFrontiers(t *testing.T) {
	v := prepass.Run(notation.MustParse("s1: w(a,1) | s1: w(a,2) | s1: w(a,3) | s2: w(b,1) | s2: w(b,2) | s2: w(b,3)"))
	if a := frontier.Search(t.Context(), v, frontier.Options{}); a.Status != frontier.Found ||
		a.Frontiers != v.NumCounts+1 {
		t.Errorf("%+v for %d transactions", a, v.NumCounts)
	}
	// Write skew at the end of two sessions: every path up to it is dead.
	v = prepass.Run(notation.MustParse("s0: w(x,0) w(y,0) | s1: r(x,0) | s1: r(x,0) r(y,0) w(x,1) | s2: r(y,0) | " +
		"s2: r(x,0) r(y,0) w(y,1)"))
	a := frontier.Search(t.Context(), v, frontier.Options{})
	must.Be(t, a.Status == frontier.None && a.Frontiers <= 2*3*3, "%+v", a)
}

// TestFrontierBounds: the context and the memory bound end a search.
func TestFrontierBounds(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Variant: "WH", Txns: 3000,
		Seed: 1}))(t)
	v := prepass.Run(h)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a := frontier.Search(ctx, v, frontier.Options{}); a.Status != frontier.Stopped {
		t.Errorf("%v after %d frontiers", a.Status, a.Frontiers)
	}
	if a := frontier.Search(t.Context(), v, frontier.Options{MaxBytes: 1 << 18}); a.Status != frontier.Exhausted {
		t.Errorf("%v after %d frontiers", a.Status, a.Frontiers)
	}
}
