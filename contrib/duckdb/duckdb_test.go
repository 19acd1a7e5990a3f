package duckdb

import (
	"context"
	"testing"

	"isovet/check"
	"isovet/collect"
	"isovet/evidence"
	"isovet/level"
)

// TestGroundTruth: DuckDB keeps snapshot isolation, and no more. The violation must be there in one of some rounds.
func TestGroundTruth(t *testing.T) {
	Register()
	skewed := false
	for seed := range uint64(10) {
		for _, w := range []string{"smallbank", "mix"} {
			r, err := collect.Run(context.Background(), collect.Config{DB: []string{"duckdb:"}, Workload: w, Txns: 300,
				Sessions: 8, Seed: seed, Keys: 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, %s: %d committed, %d aborted in %.1f s", r.Summary.DB, w, r.Summary.Committed,
				r.Summary.Aborted, r.Summary.Elapsed.Seconds())
			for _, l := range []level.Level{level.SnapshotIsolation, level.Serializable} {
				c, _ := check.Auto(r.History, l)
				res, err := check.Run(context.Background(), c, r.History, check.Options{Level: l})
				if err != nil {
					t.Fatal(err)
				}
				if l == level.SnapshotIsolation && res.Verdict != evidence.Holds {
					t.Fatalf("%v: %v", l, res.Verdict)
				}
				skewed = skewed || res.Verdict == evidence.Violated
			}
		}
		if skewed {
			return
		}
	}
	t.Error("no round has shown write skew")
}
