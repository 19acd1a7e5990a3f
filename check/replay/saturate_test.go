package replay_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/level"
	"isovet/solver"
)

// TestDenseKeepsVerdicts: all open choices made at once, at the first conflict, give the verdict that choices made one
// by one give; on larger histories, valid and not, some of them with many unordered writers. Orders are certified.
func TestDenseKeepsVerdicts(t *testing.T) {
	answers, dense := map[solver.Status]int{}, map[solver.Status]int{}
	compare := func(t testing.TB, name string, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range levels {
			if l.RealTime() && h.Txns.End == nil {
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			lazy, err := replay.Run(ctx, v, replay.Options{Level: l, NoSaturation: true})
			cancel()
			if err != nil {
				t.Fatalf("%s, %s: %v", name, l, err)
			}
			got, err := replay.Run(context.Background(), v, replay.Options{Level: l, SaturateAfter: 1,
				NoSettling: true})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, l, err)
			}
			if lazy.Status != solver.Unknown && got.Status != lazy.Status {
				t.Fatalf("%s, %s: %s, one by one %s", name, l, got.Status, lazy.Status)
			}
			if got.Status == solver.Sat {
				r := &evidence.Result{Level: l, Checker: "replay", H: h, Verdict: evidence.Holds, Order: got.Order}
				if err := certify.Check(r, certify.Options{}); err != nil {
					t.Fatalf("%s, %s: %v", name, l, err)
				}
			}
			if got.Status == solver.Unsat && !slices.Contains(h.Txns.Status, history.Unknown) {
				explained(t, fmt.Sprintf("%s, %s", name, l), v, l, got.Seed)
			}
			answers[got.Status]++
			if got.Stats.Pairs > 0 {
				dense[got.Status]++
			}
		}
	}
	histtest.Each(t, histtest.Long[uint64](40, 2000), func(seed uint64) *history.History {
		o := random.Options{Aborted: seed&1 != 0, Unknown: seed&2 != 0, Deletes: seed&4 != 0, NoTimes: seed&8 == 0}
		if seed%3 != 0 {
			o.Keys, o.Sessions = 30, 20 // room for open choices
		}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		compare(t, fmt.Sprint("medium, seed ", seed), h)
	})
	histtest.Each(t, histtest.Long[uint64](10, 300), func(seed uint64) *history.History {
		isolation := []string{"serializable", "snapshot-isolation", "read-committed"}[seed%3]
		h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "contended", Txns: 150 + 30*int(seed),
			Sessions: 12, Keys: 20,
			Isolation: isolation, Seed: seed, Times: datasets.NoTimes, UnknownRate: float64(seed%2) / 50})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		compare(t, fmt.Sprint("contended, seed ", seed), h)
	})
	t.Log(answers, dense)
	if histtest.Whole() && (answers[solver.Sat] < 50 || answers[solver.Unsat] < 50 || dense[solver.Sat] < 20 ||
		dense[solver.Unsat] < 5) {
		t.Errorf("the mix is lopsided: %v, %v", answers, dense)
	}
}

// explained certifies the explanation that a seed leads to.
func explained(t testing.TB, name string, v *prepass.View, l level.Level, seed []uint32) {
	t.Helper()
	x, err := explain.Violation(context.Background(), v, l, 0, seed, replay.Refute, nil)
	if err != nil {
		t.Fatalf("%s: seed %v: %v", name, seed, err)
	}
	x.Complete(v.H, l, 0)
	r := &evidence.Result{Level: l, Checker: "replay", H: v.H, Verdict: evidence.Violated,
		Anomalies: []evidence.Anomaly{x}}
	if err := certify.Check(r, certify.Options{}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
