package replay_test

import (
	"testing"

	"isovet/certify"
	"isovet/check"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/solver"
)

var levels = []level.Level{
	level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation,
}

// mix draws options for random histories: every combination of what a history may have comes up.
func mix(seed uint64) random.Options {
	return random.Options{
		Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0,
		NoTimes: seed&16 != 0,
	}
}

// decide runs package replay alone and certifies what it says: an order as it is, a refutation, where outcomes are
// known, by the explanation that its seed leads to.
func decide(t testing.TB, h *history.History, o replay.Options) evidence.Verdict {
	t.Helper()
	r := &evidence.Result{Level: o.Level, Checker: "replay", H: h}
	v := prepass.Run(h)
	if len(v.Anomalies) > 0 {
		return evidence.Violated
	}
	a := must.Get(replay.Run(t.Context(), v, o))(t)
	switch a.Status {
	case solver.Sat:
		r.Verdict, r.Order = evidence.Holds, a.Order
	case solver.Unsat:
		for i := range h.NumTxns() {
			if h.Txns.Status[i] == history.Unknown {
				return evidence.Violated
			}
		}
		x := must.Get(explain.Violation(t.Context(), v, o.Level, o.Skew, a.Seed, replay.Refute, nil))(t)
		x.Complete(h, o.Level, o.Skew)
		r.Verdict, r.Anomalies = evidence.Violated, []evidence.Anomaly{x}
	default:
		t.Fatalf("%s: no answer, and nobody stopped it\n%s", o.Level, notation.Format(h))
	}
	if err := certify.Check(r, certify.Options{ClockSkew: o.Skew}); err != nil {
		t.Fatalf("%s: %v\n%s", o.Level, err, notation.Format(h))
	}
	return r.Verdict
}

// checked is the certified verdict of the checker that package check makes of replay.
func checked(t testing.TB, h *history.History, l level.Level) *evidence.Result {
	t.Helper()
	c := must.Get(check.ByName("replay"))(t)
	r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
	return r
}
