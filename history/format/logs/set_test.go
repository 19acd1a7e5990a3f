package logs

import (
	"math/rand/v2"
	"testing"
)

// TestSet compares the set with a map.
func TestSet(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var s Set
		want := map[pair]bool{}
		most := 1 + rnd.Uint64N(40)
		for range rnd.IntN(1000) {
			p := pair{rnd.Uint64N(most), rnd.Uint64N(3)}
			if rnd.IntN(2) == 0 {
				s.Add(p.a, p.b)
				want[p] = true
			} else if s.Has(p.a, p.b) != want[p] {
				t.Fatalf("seed %d: has %v is %v", seed, p, !want[p])
			}
		}
		if s.Len() != len(want) {
			t.Fatalf("seed %d: %d pairs; want %d", seed, s.Len(), len(want))
		}
	}
}

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
