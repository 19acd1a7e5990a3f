package check

import (
	"slices"
	"testing"

	"isovet/certify"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/level"
)

// TestNameIsProved: a proof by cycles under any other name than that of what they show is refused, unless it shows that
// at a level that asks for fewer orders.
func TestNameIsProved(t *testing.T) {
	var kinds []level.Anomaly
	for _, k := range level.Anomalies() {
		kinds = append(kinds, k, k+"-session", k+"-realtime")
	}
	proofs := 0
	histtest.Each(t, histtest.Long[uint64](137, 10_000), func(seed uint64) *history.History {
		return namedRandom(
			seed)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range datasets.Judged() {
			c, ok := Auto(h, l)
			if !ok {
				continue
			}
			got, err := Run(t.Context(), c, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			for _, a := range got.Anomalies {
				if len(a.Cycle)+len(a.Cycles) == 0 {
					continue
				}
				proofs++
				right := a.Kind
				for _, k := range kinds {
					if k == right || k == level.G0 && right == level.IncompatibleOrder ||
						k == level.IncompatibleOrder && right == level.G0 {
						continue // an incompatible order is a G0
					}
					a.Kind = k
					r := *got
					r.Anomalies = []evidence.Anomaly{a}
					if certify.Check(&r, certify.Options{}) != nil {
						continue
					}
					weaker := func(m level.Level) bool {
						r.Level = m
						return a.Named(r.H, m, 0) == k && certify.Check(&r, certify.Options{}) == nil
					}
					if !slices.ContainsFunc(l.Relaxed(), weaker) {
						t.Fatalf("seed %d, %s: a proof of %s passes for one of %s\n%+v\n%s", seed, l, right, k, a,
							notation.Format(h))
					}
				}
			}
		}
	})
	if histtest.Whole() && proofs < 100 {
		t.Errorf("%d proofs only", proofs)
	}
}
