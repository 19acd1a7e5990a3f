package heap

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestHeap compares with a sorted list, pushes and pops mixed.
func TestHeap(t *testing.T) {
	type item struct {
		key int64
		id  int32
	}
	randtest.Seeds(t, 300, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := New[int64, int32](0)
		var want []item
		for range rng.IntN(200) {
			if len(want) > 0 && rng.IntN(5) < 2 {
				first := want[0]
				if k, x := h.Top(); k != first.key || x != first.id {
					t.Fatalf("seed %d: top is %d of %d, want %v", seed, x, k, first)
				}
				if k, x := h.Pop(); k != first.key || x != first.id {
					t.Fatalf("seed %d: popped %d of %d, want %v", seed, x, k, first)
				}
				want = want[1:]
			} else {
				x := item{rng.Int64N(20), rng.Int32N(50)}
				h.Push(x.key, x.id)
				want = append(want, x)
				slices.SortFunc(want, func(a, b item) int {
					return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
				})
			}
			must.Same(t, h.Len(), len(want), "seed %d", seed)
		}
	})
}
