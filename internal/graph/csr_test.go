package graph

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBeside: edges that two builders add are those of one that adds the first one's first.
func TestBeside(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(8)
		var first, second []Edge
		for range r.IntN(20) {
			first = append(first, Edge{int32(r.IntN(n)), int32(r.IntN(n))})
		}
		for range r.IntN(20) {
			second = append(second, Edge{int32(r.IntN(n)), int32(r.IntN(n))})
		}
		b := NewBuilder(n)
		c := b.Beside()
		for _, e := range first {
			b.Count(e.From)
		}
		for _, e := range second {
			c.Count(e.From)
		}
		b.Fill()
		for _, e := range second {
			c.Add(e.From, e.To)
		}
		for _, e := range first {
			b.Add(e.From, e.To)
		}
		want := Build(n, append(slices.Clone(first), second...))
		if got := b.CSR(); !slices.Equal(got.Off, want.Off) || !slices.Equal(got.Adj, want.Adj) {
			t.Fatalf("%v %v: %v; want %v", first, second, got, want)
		}
	}
}
