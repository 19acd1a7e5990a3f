package store

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

// TestSorted: the index of a column against a slice that is sorted anew for each question.
func TestSorted(t *testing.T) {
	randtest.Seeds(t, 40, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var x sorted
		var naive []entry
		span := int64(1 + rng.IntN(400)) // small: many equal values
		for step := range 3000 {
			if len(naive) > 0 && (rng.IntN(5) < 2 || step > 2500 && rng.IntN(5) < 4) {
				i := rng.IntN(len(naive))
				x.remove(naive[i])
				naive = slices.Delete(naive, i, i+1)
			} else {
				e := entry{rng.Int64N(span) - span/2, int32(rng.IntN(50))}
				x.add(e)
				naive = append(naive, e)
			}
			if step%50 > 0 {
				continue
			}
			lo, hi := rng.Int64N(span)-span/2, rng.Int64N(span)-span/2
			if step%200 == 0 {
				lo, hi = math.MinInt64, math.MaxInt64
			}
			slices.SortFunc(naive, func(a, b entry) int {
				return cmp.Or(cmp.Compare(a.val, b.val), cmp.Compare(a.row, b.row))
			})
			var want, got []int32
			for _, e := range naive {
				if lo <= e.val && e.val < hi {
					want = append(want, e.row)
				}
			}
			x.scan(lo, hi, func(row int32) { got = append(got, row) })
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: [%d, %d) has rows %v; expected %v", seed, step, lo, hi, got, want)
			}
			for _, c := range x.chunks {
				if len(c) == 0 || len(c) > maxChunk {
					t.Fatalf("seed %d: a chunk of %d entries", seed, len(c))
				}
			}
		}
	})
}
