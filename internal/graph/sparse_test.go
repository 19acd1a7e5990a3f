package graph

import (
	"math/rand/v2"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

// TestSparse: it is a slice.
func TestSparse(t *testing.T) {
	randtest.Seeds(t, 300, func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var s Sparse[int32]
		var plain []int32
		for range 400 {
			switch c := rnd.IntN(40); {
			case c == 0 || len(plain) == 0:
				n := len(plain) + rnd.IntN(3*sparsePage)
				s.Grow(n)
				plain = append(plain, make([]int32, n-len(plain))...)
			case c == 1:
				s.Clear()
				clear(plain)
			case c < 20:
				v := rnd.Int32N(int32(len(plain)))
				plain[v] = rnd.Int32() - 1<<30
				*s.At(v) = plain[v]
			default:
				v := rnd.Int32N(int32(len(plain)))
				if s.Get(v) != plain[v] {
					t.Fatalf("seed %d: node %d has %d; want %d", seed, v, s.Get(v), plain[v])
				}
			}
		}
	})
}
