package check

import (
	"context"
	"testing"

	"isovet/datasets"
)

// TestReplayBeyondUniqueValues holds replay against the oracle where reads have several possible writers, keys are deleted, and
// outcomes are unknown.
func TestReplayBeyondUniqueValues(t *testing.T) {
	verdicts := map[string]int{}
	for seed := range uint64(4000) {
		for which, o := range []datasets.RandomOptions{
			{Duplicates: true, Deletes: true, Aborted: true, Unknown: true},
			{Duplicates: true, Unknown: true, NoTimes: true},
			{Deletes: true, Duplicates: true},
		} {
			h := datasets.Tiny(seed, o)
			for _, l := range orderLevels {
				want, err := Run(context.Background(), bruteForce{}, h, Options{Level: l})
				if err != nil {
					t.Fatalf("seed %d/%d, %s: %v\n%s", seed, which, l, err, dump(h))
				}
				if want.Verdict == 0 {
					continue // lacks times, or no evidence
				}
				got, err := Run(context.Background(), replayer{}, h, Options{Level: l})
				if err != nil {
					t.Fatalf("seed %d/%d, %s: %v\n%s", seed, which, l, err, dump(h))
				}
				if got.Verdict != want.Verdict {
					t.Fatalf("seed %d/%d, %s: replay says %s (%s), brute force %s\n%s", seed, which, l, got.Verdict, got.Reason, want.Verdict, dump(h))
				}
				verdicts[l.String()+" "+got.Verdict.String()]++
			}
		}
	}
	t.Log(verdicts)
}
