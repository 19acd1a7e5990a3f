package replay_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/solver"
)

// TestPredicateHints: with predicates too a hint costs time and never changes the verdict; nor do times, where the
// level does not ask for them.
func TestPredicateHints(t *testing.T) {
	answers := map[solver.Status]int{}
	histtest.Each(t, histtest.Long[uint64](220, 4000), func(seed uint64) *history.History {
		o := random.Options{Predicates: true, Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0,
			Unknown: seed&8 != 0}
		o.Txns, o.Keys = 14, 5
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		o := random.Options{Predicates: true, Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0,
			Unknown: seed&8 != 0}
		o.Txns, o.Keys = 14, 5
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 3))
		random, reversed, constant := make([]int64, h.NumTxns()), make([]int64, h.NumTxns()), make([]int64, h.NumTxns())
		for i := range random {
			random[i], reversed[i] = r.Int64N(1000), int64(-i)
		}
		for _, l := range []level.Level{level.Serializable, level.SessionSerializable, level.SnapshotIsolation,
			level.SessionSnapshotIsolation} {
			want := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l}))(t)
			answers[want.Status]++
			for i, o := range []replay.Options{{NoTimes: true}, {Hint: random}, {Hint: reversed}, {Hint: constant}} {
				o.Level = l
				got, err := replay.Run(context.Background(), v, o)
				if err != nil || got.Status != want.Status {
					t.Fatalf("seed %d, %s, hint %d: %v, %v; want %v\n%s", seed, l, i, got.Status, err, want.Status,
						notation.Format(h))
				}
			}
		}
	})
	histtest.Mix(t, answers[solver.Sat] < 50 || answers[solver.Unsat] < 50, "the mix is lopsided: %v", answers)
}
