package check

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestTimesAtTheEnds: with times at the ends of the clock, and clocks off by up to all of it, every checker says what
// brute force says.
func TestTimesAtTheEnds(t *testing.T) {
	ends := []int64{math.MinInt64 + 1, math.MinInt64 + 9, -1 << 62, -5, 0, 5, 1 << 62, math.MaxInt64 - 9,
		math.MaxInt64 - 1, math.MaxInt64}
	skews := []int64{0, 3, 1 << 61, 1 << 62, math.MaxInt64 - 3, math.MaxInt64}
	said := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](82, 3000), func(seed uint64) (h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 0))
		if seed%5 == 4 {
			h = tinyList(seed)
		} else {
			h = random.Tiny(seed, random.Options{Txns: 5, Keys: 1 + int(seed%2), Sessions: 5, Ops: 2})
		}
		h.Txns.Start, h.Txns.End = make([]int64, h.NumTxns()), make([]int64, h.NumTxns())
		for i := range h.Txns.Start {
			a, b := rng.IntN(len(ends)), rng.IntN(len(ends))
			h.Txns.Start[i], h.Txns.End[i] = ends[min(a, b)], ends[max(a, b)]
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		skew := skews[rand.New(rand.NewPCG(seed, 1)).IntN(len(skews))]
		for _, l := range []level.Level{level.StrictSerializable, level.StrictSnapshotIsolation, level.Linearizable} {
			want, err := oracle.Check(h, oracle.Options{Level: l, ClockSkew: skew, VerdictOnly: true})
			if err != nil && l != level.Linearizable {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			for i, c := range All() {
				in := c.Info()
				if in.Timestamps || !slices.Contains(in.Levels, l) || in.Name == "elle" && !h.HasLists() ||
					len(in.Solvers) > 0 && (seed+uint64(i))%4 != 0 {
					continue
				}
				got, err := Run(t.Context(), c, h, Options{Level: l, ClockSkew: skew})
				if err != nil {
					t.Fatalf("seed %d, %s, %s, skew %d: %v\n%s", seed, l, in.Name, skew, err, notation.Format(h))
				}
				if want != nil && want.Verdict != evidence.Unknown && got.Verdict != evidence.Unknown &&
					got.Verdict != want.Verdict {
					t.Fatalf("seed %d, %s, skew %d: %s says %s, brute force %s\n%s", seed, l, skew, in.Name,
						got.Verdict, want.Verdict, notation.Format(h))
				}
				said[got.Verdict]++
			}
		}
	})
	if histtest.Whole() && (said[evidence.Holds] < 300 || said[evidence.Violated] < 300) {
		t.Errorf("too few answers: %v", said)
	}
}
