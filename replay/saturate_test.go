package replay_test

import (
	"context"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history/notation"
	"isovet/level"
	"isovet/oracle"
	"isovet/prepass"
	"isovet/replay"
	"isovet/solver"
)

// TestSaturationKeepsVerdicts saturates at the first conflict, on histories small enough for brute force, at all six levels.
func TestSaturationKeepsVerdicts(t *testing.T) {
	saturated := 0
	for seed := range uint64(4000) {
		h := datasets.Tiny(seed, datasets.RandomOptions{
			Txns: 7, Keys: 2, Ops: 4, Sessions: 5, Unknown: seed&1 != 0, Duplicates: seed&2 != 0, Deletes: seed&4 != 0,
		})
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 {
			continue
		}
		for _, l := range level.All() {
			if !l.Serial() && !l.Snapshot() {
				continue
			}
			want, err := oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if want.Verdict == evidence.Unknown {
				continue
			}
			got, err := replay.Run(context.Background(), v, replay.Options{Level: l, SaturateAfter: 1})
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, l, err, notation.Format(h))
			}
			if (got.Status == solver.Sat) != (want.Verdict == evidence.Holds) {
				t.Fatalf("seed %d, %s: replay %s, brute force %s\n%s", seed, l, got.Status, want.Verdict, notation.Format(h))
			}
			if got.Stats.Facts > 0 {
				saturated++
			}
		}
	}
	if saturated < 50 {
		t.Errorf("saturation found something in %d runs only", saturated)
	}
	t.Log(saturated)
}
