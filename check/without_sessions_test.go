package check

import (
	"context"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/level"
)

// TestSessionsCut: where one session went back in time, the others still tell the order: it is found by replay, and
// quickly, though nothing else would tell it.
func TestSessionsCut(t *testing.T) {
	h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "contended", Txns: 3000, Seed: 1,
		Fault: "session-guarantee", Times: datasets.NoTimes})
	if err != nil {
		t.Fatal(err)
	}
	for l, want := range map[level.Level]evidence.Verdict{
		level.SessionSerializable: evidence.Violated, level.SessionSnapshotIsolation: evidence.Violated,
		level.Serializable: evidence.Holds, level.SnapshotIsolation: evidence.Holds,
	} {
		r, err := Run(context.Background(), run.Replay{}, h, Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != want || r.DecidedBy != "" || r.Stats.Conflicts > 10000 {
			t.Errorf("%s: %s (%s) by %q after %d conflicts; want %s by replay", l, r.Verdict, r.Reason, r.DecidedBy,
				r.Stats.Conflicts, want)
		}
	}
}
