package shrink

import (
	"testing"

	"isovet/datasets"
	"isovet/level"
)

// TestPredicateWriters: where what a predicate saw was written by another's predicate write, that stays as a plain
// write, and a few steps come down to few transactions.
func TestPredicateWriters(t *testing.T) {
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw-pred", Isolation: "read-uncommitted",
		Txns: 100, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	r, err := History(t.Context(), h, level.SnapshotIsolation, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.To.Txns > 4 || r.Tried > 150 {
		t.Errorf("%v after %d histories:\n%s", r.To, r.Tried, text(t, r.H))
	}
	for x := range uint32(r.H.NumTxns()) {
		if lo, hi := r.H.TxnOps(x); hi == lo {
			t.Errorf("T%d does nothing:\n%s", r.H.Txns.ID[x], text(t, r.H))
		}
	}
}
