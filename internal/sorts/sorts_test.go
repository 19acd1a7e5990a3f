package sorts

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSorts: both give what package slices gives.
func TestSorts(t *testing.T) {
	type pair struct{ key, place int }
	for n := range 200 {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		a := make([]pair, n)
		for i := range a {
			a[i] = pair{r.IntN(1 + n/3), i}
		}
		b, c, d := slices.Clone(a), slices.Clone(a), slices.Clone(a)
		byKey := func(x, y pair) int { return cmp.Compare(x.key, y.key) }
		whole := func(x, y pair) int { return cmp.Or(byKey(x, y), cmp.Compare(x.place, y.place)) }
		Stable(a, byKey)
		slices.SortStableFunc(b, byKey)
		Func(c, whole)
		slices.SortFunc(d, whole)
		if !slices.Equal(a, b) || !slices.Equal(c, d) {
			t.Fatalf("%d: %v %v %v %v", n, a, b, c, d)
		}
	}
}
