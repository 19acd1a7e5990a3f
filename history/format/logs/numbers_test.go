package logs

import (
	"math/rand/v2"
	"testing"
)

// TestNumbers compares the set of numbers with a map.
func TestNumbers(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		var s Numbers
		want := map[uint64]bool{}
		for range rnd.IntN(2000) {
			n := rnd.Uint64N(1 << (2 + seed%62))
			if rnd.IntN(2) == 0 {
				n = rnd.Uint64N(2000) - 1000
			}
			if rnd.IntN(2) == 0 {
				s.Add(n)
				want[n] = true
			} else if s.Has(n) != want[n] {
				t.Fatalf("seed %d: has %d is %v", seed, n, !want[n])
			}
		}
		if s.Len() != len(want) {
			t.Fatalf("seed %d: %d numbers; want %d", seed, s.Len(), len(want))
		}
	}
}
