package history

import (
	"math/rand/v2"
	"testing"
)

// TestIndex: it is a map.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var x Index
	twin := map[int64]uint32{}
	name := func() int64 {
		return []int64{r.Int64N(20), smallNames - 3 + r.Int64N(6), -r.Int64N(5), r.Int64()}[r.IntN(4)]
	}
	for range 20_000 {
		if n := name(); r.IntN(2) == 0 {
			twin[n] = r.Uint32N(1000)
			x.Set(n, twin[n])
		} else {
			x.Delete(n)
			delete(twin, n)
		}
		n := name()
		got, ok := x.Get(n)
		if want, is := twin[n]; ok != is || ok && got != want {
			t.Fatalf("%d: %d, %v; want %d, %v", n, got, ok, want, is)
		}
	}
}
