package replay

import (
	"context"
	"testing"

	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/history"
	"isovet/level"
	"isovet/solver"
)

// TestHintOfUnknownOutcomes: nobody saw the ends of transactions of unknown outcome, and yet the first order has them
// near to where they took effect, so that what others read from them is seldom against it.
func TestHintOfUnknownOutcomes(t *testing.T) {
	for i, l := range []level.Level{level.SessionSerializable, level.StrictSerializable,
		level.SessionSnapshotIsolation, level.StrictSnapshotIsolation} {
		for j, rate := range []float64{0.02, 0.3} {
			for _, stamped := range []bool{false, true} {
				h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: "blindw", Txns: 3000,
					UnknownRate: rate, Seed: uint64(2*i + j), DBTimes: stamped})
				if err != nil {
					t.Fatal(err)
				}
				v := prepass.Run(h)
				a, err := Run(context.Background(), v, Options{Level: l})
				if err != nil || a.Status != solver.Sat {
					t.Fatalf("%s, rate %v: %v %v", l, rate, a.Status, err)
				}
				lost := 0
				for u, counts := range v.Counts {
					if counts && h.Txns.Status[u] == history.Unknown {
						lost++
					}
				}
				if lost < 5 {
					t.Fatalf("%s, rate %v: %d transactions of unknown outcome count", l, rate, lost)
				}
				if !l.Snapshot() && a.Stats.Backward > lost/2 {
					t.Errorf("%s, rate %v: %d known edges of %d are against the first order, with %d outcomes unknown",
						l, rate, a.Stats.Backward, a.Stats.KnownEdges, lost)
				}
			}
		}
	}
}
