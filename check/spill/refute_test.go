package spill

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/level"
)

// A stretch that was refuted is done with: a read far behind it, which only an order of that stretch could explain,
// must not have it grow, be read and be refuted again until it is too large.
func TestRefutedStretchesStay(t *testing.T) {
	for seed := range histtest.Long[uint64](1, 4) {
		const faults = 12
		h, err := datasets.Generate(context.Background(), datasets.Spec{Txns: 12_000, Keys: 1200, Seed: seed,
			Fault: "write-skew,lost-update", Faults: faults, Times: datasets.TxnTimes})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 3))
		a, err := Check(context.Background(), cut(h, r), Options{Dir: filepath.Join(t.TempDir(), "spill"),
			Level: level.Serializable, MaxWindow: 400})
		if err != nil {
			t.Fatal(err)
		}
		if a.Verdict != evidence.Violated || len(a.Found) != faults || len(a.Open) > 0 || a.Stats.Rounds > 4 {
			t.Errorf("seed %d: %s, %d found, %d stretches left open, %d rounds; expected violation, %d found, none "+
				"left open, few rounds", seed, a.Verdict, len(a.Found), len(a.Open), a.Stats.Rounds, faults)
		}
	}
}
