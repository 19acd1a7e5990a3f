package shrink

import (
	"errors"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/level"
)

// TestKinds: the anomaly that was asked for stays, where another would have been left without asking; one that the
// whole does not show is reported not to be there.
func TestKinds(t *testing.T) {
	kept, lost := 0, 0
	shows := func(r *evidence.Result, k level.Anomaly) bool {
		return slices.ContainsFunc(r.Anomalies, func(a evidence.Anomaly) bool { return a.Kind == k })
	}
	histtest.Each(t, histtest.Long[uint64](137, 20_000), some, func(t testing.TB, _ uint64, h *history.History) {
		first := judge(t, h, level.Serializable)
		if first.Verdict != evidence.Violated {
			return
		}
		_, err := History(t.Context(), h, level.Serializable, Options{First: first, Kinds: []level.Anomaly{"no such"}})
		if _, ok := errors.AsType[*NoViolation](err); !ok {
			t.Fatalf("a kind that is not there: %v", err)
		}
		other, err := History(t.Context(), h, level.Serializable, Options{First: first})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range first.Anomalies {
			r, err := History(t.Context(), h, level.Serializable, Options{First: first, Kinds: []level.Anomaly{a.Kind}})
			if err != nil {
				t.Fatal(err)
			}
			if !shows(r.Answer, a.Kind) || !shows(judge(t, r.H, level.Serializable), a.Kind) {
				t.Fatalf("%s went:\n%s", a.Kind, text(t, r.H))
			}
			kept++
			if !shows(other.Answer, a.Kind) {
				lost++
			}
		}
	})
	if histtest.Whole() && (kept < 100 || lost == 0) {
		t.Errorf("%d kinds were kept, %d of them would have gone", kept, lost)
	}
}
