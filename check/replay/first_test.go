package replay_test

import (
	"context"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/check/replay"
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

// generated is a history of a workload without times.
func generated(t *testing.T, o datasets.Spec) *history.History {
	t.Helper()
	o.Times = datasets.NoTimes
	return must.Get(datasets.Generate(context.Background(), o))(t)
}

// TestFirstOrderByDepth: where reads tie the sessions to each other, few fail in the order by paths; where they do not,
// no more than in the order by places in sessions, but for those that repairs bring.
func TestFirstOrderByDepth(t *testing.T) {
	for _, c := range []struct {
		o     datasets.Spec
		share float64 // at most, of what fails by places
	}{
		{datasets.Spec{Workload: "blindw", Txns: 10000, Seed: 1}, 0.75},
		{datasets.Spec{Workload: "blindw", Txns: histtest.Long(4000, 10000), Keys: 1000, Seed: 2}, 0.75},
		{datasets.Spec{Workload: "longfork", Txns: 5000, Seed: 3}, 1},
	}[histtest.Long(1, 0):] {
		v := prepass.Run(generated(t, c.o))
		for _, l := range []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation} {
			place := make([]int64, v.H.NumTxns())
			for s := range v.H.NumSessions() {
				in := v.H.SessTxn[v.H.SessOff[s]:v.H.SessOff[s+1]]
				for i, x := range in {
					place[x] = int64(i) << 40 / int64(len(in))
				}
			}
			was := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l, Hint: place}))(t)
			is := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l}))(t)
			t.Log(c.o.Workload, l, is.Stats.Failed, was.Stats.Failed)
			must.Be(t, float64(is.Stats.Failed) <= c.share*float64(was.Stats.Failed),
				"%s, %s: %d reads fail, %d by places", c.o.Workload, l, is.Stats.Failed, was.Stats.Failed)
		}
	}
}

// TestSerialOrderFirst: a serial order that is looked for at a snapshot level never changes the verdict.
func TestSerialOrderFirst(t *testing.T) {
	serial, other, none := 0, 0, 0
	histtest.Each(t, histtest.Long[uint64](1650, 40000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 7, Keys: 2 + int(seed%2), Ops: 3, Sessions: 4, NoTimes: true,
			Unknown: seed&4 != 0, Duplicates: seed&8 != 0, Deletes: seed&16 != 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			return
		}
		for _, l := range []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation} {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			if want.Verdict == evidence.Unknown {
				continue
			}
			a := must.Get(replay.Run(t.Context(), v, replay.Options{Level: l, SerialFirst: true,
				SettleFirst: seed%3 == 0}))(t)
			if (a.Status == solver.Sat) != (want.Verdict == evidence.Holds) {
				t.Fatalf("seed %d, %s: replay %s, brute force %s\n%s", seed, l, a.Status, want.Verdict,
					notation.Format(h))
			}
			switch {
			case a.Stats.Serial == 2:
				serial++
				r := &evidence.Result{Level: l, Checker: "replay", H: h, Verdict: evidence.Holds, Order: a.Order}
				if err := certify.Check(r, certify.Options{}); err != nil {
					t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
				}
			case a.Stats.Serial == 1 && a.Status == solver.Sat:
				other++
			case a.Stats.Serial == 1:
				none++
				if !slices.Contains(h.Txns.Status, history.Unknown) {
					explained(t, l.String(), v, l, a.Seed)
				}
			}
		}
	})
	histtest.Mix(t, serial < 50 || other < 20 || none < 50,
		"a serial order in %d runs, another in %d, none in %d", serial, other, none)
}
