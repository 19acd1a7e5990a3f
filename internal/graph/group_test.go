package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestGroup compares with a list a key.
func TestGroup(t *testing.T) {
	randtest.Seeds(t, 300, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 2))
		n := rng.IntN(8)
		keys := make([]int32, 0, 20)
		if n > 0 {
			for range rng.IntN(20) {
				keys = append(keys, rng.Int32N(int32(n)))
			}
		}
		want := make([][]int32, n)
		for i, k := range keys {
			want[k] = append(want[k], int32(i))
		}
		off, items := Group(keys, n)
		if len(off) != n+1 || int(off[n]) != len(keys) || len(items) != len(keys) {
			t.Fatalf("seed %d: %d offsets and %d items of %d keys", seed, len(off), len(items), len(keys))
		}
		for k := range n {
			if !slices.Equal(items[off[k]:off[k+1]], want[k]) {
				t.Fatalf("seed %d: of key %d %v, want %v", seed, k, items[off[k]:off[k+1]], want[k])
			}
		}
	})
}

// TestShortCycle: on a cycle of each graph that has one; of the fewest nodes of a component, unless no search fits the
// bound.
func TestShortCycle(t *testing.T) {
	cyclic := 0
	randtest.Seeds(t, 400, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rng.IntN(9)
		var edges []Edge
		for range rng.IntN(2 * n) {
			edges = append(edges, Edge{rng.Int32N(int32(n)), rng.Int32N(int32(n))})
		}
		g := Build(n, edges)
		parts := Cyclic(g)
		if _, ok := Topological(g); ok && len(parts) > 0 {
			t.Fatalf("seed %d: %v of an acyclic graph", seed, parts)
		}
		comp, _ := Components(g)
		for v := range comp {
			in := slice.Count(parts, func(p []int32) bool { return slices.Contains(p, int32(v)) })
			many := slice.Count(comp, func(c int32) bool { return c == comp[v] })
			must.Hold(t, (many > 1) == (in == 1) && in <= 1, "seed %d: node %d is in %d of %v", seed, v, in, parts)
		}
		if len(parts) == 0 {
			return
		}
		cyclic++
		smallest := parts[0]
		for _, p := range parts {
			if len(p) < len(smallest) {
				smallest = p
			}
		}
		for _, work := range []int{0, 1, 1 << 20} {
			c := ShortCycle(g, work)
			for i, u := range c {
				must.Hold(t, slices.Contains(g.Succ(u), c[(i+1)%len(c)]), "seed %d: %v is no cycle", seed, c)
			}
			if work == 1 {
				continue
			}
			exact, _ := NewSearcher(n).ShortestCycle(g, smallest, 0)
			must.Same(t, len(c), len(exact), "seed %d: nodes of the cycle", seed)
		}
	})
	must.Hold(t, !randtest.Whole() || cyclic >= 60, "%d graphs with a cycle", cyclic)
}

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
				must.Same(t, s.Get(v), plain[v], "seed %d: node %d", seed, v)
			}
		}
	})
}
