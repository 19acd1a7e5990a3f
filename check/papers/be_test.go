package papers

import (
	"context"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestBE: equal to brute force on tiny histories, certified (Run), the "no" included.
func TestBE(t *testing.T) {
	var yes, no int
	histtest.Each(t, uint64(3000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Aborted: seed%2 == 0, Unknown: seed%3 == 0, Deletes: seed%5 == 0,
			Duplicates: seed%7 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		want := must.Get(oracle.Check(h, oracle.Options{Level: level.SessionSerializable, VerdictOnly: true}))(t)
		got := must.Get(check.Run(t.Context(), biswasEnea{}, h, run.Options{Level: level.SessionSerializable}))(t)
		if got.Verdict == evidence.Unknown && strings.HasPrefix(got.Reason, "needs unique values") {
			return
		}
		must.Equal(t, got.Verdict, want.Verdict, "seed %d (%s)", seed, got.Reason)
		if got.Verdict == evidence.Holds {
			yes++
		} else {
			no++
		}
	})
	histtest.Mix(t, yes < 500 || no < 500, "%d valid, %d not", yes, no)
}

// TestBERefuses: other levels, and histories that it does not get through.
func TestBERefuses(t *testing.T) {
	h := random.Tiny(1, random.Options{})
	for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SnapshotIsolation} {
		r, err := check.Run(t.Context(), biswasEnea{}, h, run.Options{Level: l})
		must.Be(t, err == nil && r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason, "be does not decide"),
			"%s: %v, %v", l, r, err)
	}
	h = must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Variant: "WH", Txns: 3000,
		Seed: 1}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := check.Run(ctx, biswasEnea{}, h, run.Options{Level: level.SessionSerializable})
	must.Be(t, err == nil && r.Verdict == evidence.Unknown && r.Reason == "timeout", "%+v, %v", r, err)
}
