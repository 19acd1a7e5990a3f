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
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/solver"
)

// crowded draws options of histories in which most values are written more than once.
func crowded(seed uint64) random.Options {
	return random.Options{
		Duplicates: true, Txns: 6, Keys: 1 + int(seed%3), Sessions: 1 + int(seed/3%5), Ops: 2 + int(seed/15%3),
		Deletes: seed/45%4 == 0, Aborted: seed/180%4 == 0, Unknown: seed/720%4 == 0, NoTimes: seed%2 == 0,
	}
}

// TestSettlingAgainstBruteForce: with what was settled before, the loop says what brute force says, and every answer is
// certified.
func TestSettlingAgainstBruteForce(t *testing.T) {
	said := map[level.Level]map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](495, 60000), func(seed uint64) *history.History {
		o := crowded(seed)
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := crowded(seed)
		for _, l := range levels {
			if o.NoTimes && l.RealTime() {
				continue
			}
			want := must.Get(oracle.Check(h, oracle.Options{Level: l}))(t)
			if want.Verdict == evidence.Unknown {
				continue // with a reason: certain unknown outcomes
			}
			got := decide(t, h, replay.Options{Level: l, SettleFirst: true})
			if got != want.Verdict {
				t.Fatalf("seed %d, %s: %s, brute force %s\n%s", seed, l, got, want.Verdict, notation.Format(h))
			}
			if r := checked(t, h, l); r.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: checker %s (%s), brute force %s\n%s", seed, l, r.Verdict, r.Reason, want.Verdict,
					notation.Format(h))
			}
			if said[l] == nil {
				said[l] = map[evidence.Verdict]int{}
			}
			said[l][got]++
		}
	})
	t.Log(said)
	for _, l := range levels {
		n := int(histtest.Long[uint64](165, 30000))
		histtest.Mix(t, said[l][evidence.Holds] < n/8 || said[l][evidence.Violated] < n/8,
			"%s: the mix is lopsided: %v", l, said[l])
	}
}

// TestSettlingKeepsVerdicts: on histories too large for brute force, with and without settling the answer is the same;
// refutations by settling alone and by the loop after it are explained by few transactions, and certified.
func TestSettlingKeepsVerdicts(t *testing.T) {
	contradictions, lemmas, settled, holds := 0, 0, 0, 0
	histtest.Each(t, histtest.Long[uint64](55, 5000), func(seed uint64) *history.History {
		o := random.Options{Duplicates: true, Txns: 10 + int(seed%60), Keys: 2 + int(seed%7), Sessions: 2 + int(seed%5),
			Aborted: seed&1 != 0, Unknown: seed&6 == 6, NoTimes: true}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range levels {
			if l.RealTime() {
				continue
			}
			want := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l, NoSettling: true}))(t)
			got := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l}))(t)
			if got.Status != want.Status {
				t.Fatalf("seed %d, %s: %s, without settling %s\n%s", seed, l, got.Status, want.Status,
					notation.Format(h))
			}
			settled += got.Stats.Settled
			switch {
			case got.Status == solver.Sat:
				holds++
				r := &evidence.Result{Level: l, Checker: "replay", H: h, Verdict: evidence.Holds, Order: got.Order}
				must.OK(t, certify.Check(r, certify.Options{}), "seed %d, %s", seed, l)
			case slices.Contains(h.Txns.Status, history.Unknown):
			default:
				explained(t, fmt.Sprintf("seed %d, %s", seed, l), v, l, got.Seed)
				if got.Stats.Contradiction {
					contradictions++
				} else if got.Stats.Settled > 0 && got.Stats.Guards > 0 {
					lemmas++
				}
			}
		}
	})
	t.Logf("%d hold, %d contradictions, %d refuted by the loop after it; %d reads settled", holds, contradictions,
		lemmas, settled)
	histtest.Mix(t, contradictions < 8 || holds < 40 || settled < 400, "the mix is lopsided")
}

// TestSettlingLater: where times lie about the order, and many reads with several possible writers fail, settling takes
// over; with unknown outcomes too, and both answers are certified.
func TestSettlingLater(t *testing.T) {
	randtest.Seeds(t, histtest.Long[uint64](1, 40), func(t testing.TB, seed uint64) {
		for _, isolation := range []string{"serializable", "snapshot-isolation"} {
			h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "mix", Variant: "duplicates",
				Values: 7 + int(seed%3)*7, Txns: histtest.Long(600, 1200), Keys: histtest.Long(300, 600), Seed: seed,
				Isolation: isolation, Hint: datasets.RandomTimes, UnknownRate: 0.01}))(t)
			for _, l := range []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation} {
				want := evidence.Holds
				if isolation != "serializable" && l == level.SessionSerializable {
					want = evidence.Violated
				}
				if r := checked(t, h, l); r.Verdict != want {
					t.Fatalf("seed %d, %s, %s: %s (%s)", seed, isolation, l, r.Verdict, r.Reason)
				}
				if a, err := replay.Run(context.Background(), prepass.Run(h), replay.Options{Level: l}); err != nil ||
					a.Stats.Settled == 0 && !a.Stats.Contradiction {
					t.Fatalf("seed %d, %s, %s: nothing was settled (%v)", seed, isolation, l, err)
				}
			}
		}
	})
}

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
			must.OK(t, err, "%s, %s", name, l)
			got := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l, SaturateAfter: 1, NoSettling: true}))(t)
			if lazy.Status != solver.Unknown && got.Status != lazy.Status {
				t.Fatalf("%s, %s: %s, one by one %s", name, l, got.Status, lazy.Status)
			}
			if got.Status == solver.Sat {
				r := &evidence.Result{Level: l, Checker: "replay", H: h, Verdict: evidence.Holds, Order: got.Order}
				must.OK(t, certify.Check(r, certify.Options{}), "%s, %s", name, l)
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
	}, func(t testing.TB, seed uint64, h *history.History) { compare(t, fmt.Sprint("medium, seed ", seed), h) })
	histtest.Each(t, histtest.Long[uint64](10, 300), func(seed uint64) *history.History {
		isolation := []string{"serializable", "snapshot-isolation", "read-committed"}[seed%3]
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "contended",
			Txns: 150 + 30*int(seed), Sessions: 12, Keys: 20, Isolation: isolation, Seed: seed,
			Times: datasets.NoTimes, UnknownRate: float64(seed%2) / 50}))(t)
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		compare(t, fmt.Sprint("contended, seed ", seed), h)
	})
	histtest.Mix(t, answers[solver.Sat] < 50 || answers[solver.Unsat] < 50 || dense[solver.Sat] < 20 ||
		dense[solver.Unsat] < 5, "the mix is lopsided: %v, %v", answers, dense)
}

// explained certifies the explanation that a seed leads to.
func explained(t testing.TB, name string, v *prepass.View, l level.Level, seed []uint32) {
	t.Helper()
	x := must.Get(explain.Violation(t.Context(), v, l, 0, seed, replay.Refute, nil))(t)
	x.Complete(v.H, l, 0)
	r := &evidence.Result{Level: l, Checker: "replay", H: v.H, Verdict: evidence.Violated,
		Anomalies: []evidence.Anomaly{x}}
	must.OK(t, certify.Check(r, certify.Options{}), "%s", name)
}

// TestCutSessions: with sessions cut anywhere an order is one of the level without sessions, there is one if that level
// holds and all is cut, and none if it is violated. So too if all choices are made at once.
func TestCutSessions(t *testing.T) {
	asked := map[level.Level]level.Level{level.Serializable: level.SessionSerializable,
		level.SnapshotIsolation: level.SessionSnapshotIsolation}
	said := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](825, 30000), func(seed uint64) *history.History {
		o := mix(seed)
		o.Txns, o.Keys, o.Sessions, o.Ops = 6, 2, 2, 3
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for plain, sessions := range asked {
			want := must.Get(oracle.Check(h, oracle.Options{Level: plain}))(t)
			for _, every := range []int{1, 2, 3} {
				cut := make(map[uint32]bool)
				for i := 0; i < h.NumTxns(); i += every {
					cut[uint32(i)] = true
				}
				for _, o := range []replay.Options{{}, {AllAtOnce: true}, {SettleFirst: true}} {
					o.Level, o.Cut = sessions, cut
					a := must.Get(replay.Run(t.Context(), v, o))(t)
					switch {
					case a.Status == solver.Sat:
						r := &evidence.Result{Level: plain, Checker: "replay", H: h, Verdict: evidence.Holds,
							Order: a.Order}
						if err := certify.Check(r, certify.Options{}); err != nil {
							t.Fatalf("%s: %v\n%s", plain, err, notation.Format(h))
						}
						said["order"]++
					case a.GaveUp && o.AllAtOnce:
						said["gave up"]++
					case a.Status != solver.Unsat, every == 1 && want.Verdict == evidence.Holds:
						t.Fatalf("%s, cut before every %d: %v, brute force %s\n%s", plain, every, a.Status,
							want.Verdict, notation.Format(h))
					default:
						said["none, "+want.Verdict.String()]++
					}
				}
			}
		}
	})
	t.Log(said)
	for _, what := range []string{"order", "none, valid", "none, violation"} {
		histtest.Mix(t, said[what] < 50, "%s: %d times only", what, said[what])
	}
}
