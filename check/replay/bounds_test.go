package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/solver"
)

// tight are bounds of which one, and then all, are as low as they can be; "": as they are.
var tight = map[string]func(*bounds){
	"":             func(*bounds) {},
	"rounds":       func(b *bounds) { b.roundScans = 1 },
	"scans":        func(b *bounds) { b.scans = 1 },
	"facts":        func(b *bounds) { b.facts = 1 },
	"words":        func(b *bounds) { b.words = 1 },
	"guards":       func(b *bounds) { b.guards = 1 },
	"all":          func(b *bounds) { *b = bounds{1, 1, 1, 1, 1, 1} },
	"arena":        func(b *bounds) { b.arena = 1 },
	"arena of 30":  func(b *bounds) { b.arena = 30 },
	"arena of 300": func(b *bounds) { b.arena = 300 },
	// Some facts are found, more would follow.
	"some scans": func(b *bounds) { b.roundScans, b.scans = 5, 40 },
	"some facts": func(b *bounds) { b.facts = 20 },
}

// bounded runs replay with saturation at the first conflict, under tight bounds, or where some is false with none; a
// bound may cost time, not the answer.
func bounded(t testing.TB, what string, v *prepass.View, l level.Level, want evidence.Verdict, some bool,
	seen map[string]int) {
	t.Helper()
	for name, tighten := range tight {
		if !some && name != "" {
			continue
		}
		b := defaultBounds
		tighten(&b)
		got, err := Run(context.Background(), v, Options{Level: l, SaturateAfter: 1, NoSettling: name == "", bounds: b})
		if b.arena > 0 && (errors.Is(err, ErrNoRoom) || err == nil && got.Status == solver.Unknown) {
			seen["no room"]++
			continue
		}
		if err != nil {
			t.Fatalf("%s, %s, bound on %s: %v\n%s", what, l, name, err, notation.Format(v.H))
		}
		if want != evidence.Unknown &&
			(got.Status == solver.Unknown || (got.Status == solver.Sat) != (want == evidence.Holds)) {
			t.Fatalf("%s, %s, bound on %s: %s, expected %s\n%s", what, l, name, got.Status, want, notation.Format(v.H))
		}
		if got.Stats.Astray > 0 {
			t.Fatalf("%s, %s, bound on %s: saturation said that nothing follows any more, and an order of what it "+
				"left open has a read wrong\n%s",
				what, l, name, notation.Format(v.H))
		}
		if got.Status == solver.Sat {
			r := &evidence.Result{Level: l, Checker: "replay", H: v.H, Verdict: evidence.Holds, Order: got.Order}
			if err := certify.Check(r, certify.Options{}); err != nil {
				t.Fatalf("%s, %s, bound on %s: %v\n%s", what, l, name, err, notation.Format(v.H))
			}
		}
		if got.Status == solver.Unsat && !slices.Contains(v.H.Txns.Status, history.Unknown) {
			x := must.Get(explain.Violation(t.Context(), v, l, 0, got.Seed, Refute, nil))(t)
			x.Complete(v.H, l, 0)
			r := &evidence.Result{Level: l, Checker: "replay", H: v.H, Verdict: evidence.Violated,
				Anomalies: []evidence.Anomaly{x}}
			if err := certify.Check(r, certify.Options{}); err != nil {
				t.Fatalf("%s, %s, bound on %s: %v\n%s", what, l, name, err, notation.Format(v.H))
			}
			seen["violated"]++
		}
		if got.Stats.Facts > 0 {
			seen[name]++
		}
		if name == "" && got.Stats.Pairs > 0 {
			seen["dense"]++
		}
	}
}

// TestBoundsKeepVerdicts: saturation at the first conflict gives the verdict of brute force on small histories, at all
// six levels; so it does with each bound of saturation and of the search after it set to 1, alone and all together.
func TestBoundsKeepVerdicts(t *testing.T) {
	seen := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](275, 20000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{
			Txns: 7, Keys: 2, Ops: 4, Sessions: 5, Unknown: seed&1 != 0, Duplicates: seed&2 != 0, Deletes: seed&4 != 0,
		})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range level.All() {
			if !l.Serial() && !l.Snapshot() {
				continue
			}
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			bounded(t, fmt.Sprint("seed ", seed), v, l, want.Verdict, histtest.Long(seed%6 == 0, true), seen)
		}
	})
	histtest.Mix(t, seen[""] < 15 || seen["dense"] < 15,
		"saturation found something in %d runs only, and left choices in %d", seen[""], seen["dense"])
}

// TestBoundsOnLargerHistories is the same with hundreds of transactions, against runs without saturation, where many
// writers of a few popular keys are unordered.
func TestBoundsOnLargerHistories(t *testing.T) {
	seen := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](2, 300), func(seed uint64) *history.History {
		isolation := []string{"serializable", "snapshot-isolation", "serializable", "read-committed"}[seed%4]
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "mix", Variant: "write-heavy",
			Zipf: 1.2, Txns: 60 + 20*int(seed%8), Sessions: 8, Keys: 12, Isolation: isolation, Seed: seed,
			Times: datasets.NoTimes}))(t)
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range []level.Level{level.Serializable, level.SessionSerializable, level.SnapshotIsolation,
			level.SessionSnapshotIsolation} {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			lazy, err := Run(ctx, v, Options{Level: l})
			cancel()
			must.OK(t, err, "seed %d, %s", seed, l)
			want := map[solver.Status]evidence.Verdict{solver.Sat: evidence.Holds,
				solver.Unsat: evidence.Violated}[lazy.Status]
			if lazy.Status != solver.Unknown {
				bounded(t, fmt.Sprint("seed ", seed), v, l, want, true, seen)
			}
		}
	})
	t.Log(seen)
	for _, name := range []string{"rounds", "some scans", "some facts", "guards"} {
		histtest.Mix(t, seen[name] == 0, "bound on %s: saturation found nothing in any run", name)
	}
}
