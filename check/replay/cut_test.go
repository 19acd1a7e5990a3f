package replay_test

import (
	"context"
	"testing"

	"isovet/certify"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/solver"
)

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
			want, err := oracle.Check(h, oracle.Options{Level: plain})
			if err != nil {
				t.Fatal(err)
			}
			for _, every := range []int{1, 2, 3} {
				cut := make(map[uint32]bool)
				for i := 0; i < h.NumTxns(); i += every {
					cut[uint32(i)] = true
				}
				for _, o := range []replay.Options{{}, {AllAtOnce: true}, {SettleFirst: true}} {
					o.Level, o.Cut = sessions, cut
					a, err := replay.Run(context.Background(), v, o)
					if err != nil {
						t.Fatalf("%s: %v\n%s", plain, err, notation.Format(h))
					}
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
		if histtest.Whole() && said[what] < 50 {
			t.Errorf("%s: %d times only", what, said[what])
		}
	}
}
