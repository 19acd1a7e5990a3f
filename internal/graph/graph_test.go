package graph

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// rounds of random graphs per test; each round prints its seed when it fails.
const rounds = 4000

func eachSeed(t *testing.T, n uint64, f func(t testing.TB, r *rand.Rand)) {
	t.Helper()
	randtest.Seeds(t, n, func(t testing.TB, seed uint64) { f(t, rand.New(rand.NewPCG(seed, 1))) })
}

func randomEdges(r *rand.Rand, maxN int) (n int, edges []Edge) {
	n = 1 + r.IntN(maxN)
	for range r.IntN(2*n + 2) {
		edges = append(edges, Edge{int32(r.IntN(n)), int32(r.IntN(n))})
	}
	return n, edges
}

func randomDAG(r *rand.Rand, maxN int) (n int, edges []Edge) {
	n = 1 + r.IntN(maxN)
	name := r.Perm(n)
	for range r.IntN(2*n + 2) {
		if a, b := r.IntN(n), r.IntN(n); a < b {
			edges = append(edges, Edge{int32(name[a]), int32(name[b])})
		}
	}
	return n, edges
}

// distances is the naive twin: fewest edges of a non-empty path between any two nodes (0: none),
// by Floyd and Warshall.
func distances(n int, edges []Edge) [][]int {
	d := make([][]int, n)
	for i := range d {
		d[i] = make([]int, n)
	}
	for _, e := range edges {
		d[e.From][e.To] = 1
	}
	for k := range n {
		for i := range n {
			for j := range n {
				if d[i][k] > 0 && d[k][j] > 0 && (d[i][j] == 0 || d[i][k]+d[k][j] < d[i][j]) {
					d[i][j] = d[i][k] + d[k][j]
				}
			}
		}
	}
	return d
}

func hasEdge(edges []Edge, u, v int32) bool { return slices.Contains(edges, Edge{u, v}) }

// edgesOf lists all edges by slot.
func edgesOf(g *CSR) (edges []Edge) {
	for u := range int32(g.N()) {
		for _, v := range g.Succ(u) {
			edges = append(edges, Edge{u, v})
		}
	}
	return edges
}

func isCycle(edges []Edge, c []int32) bool {
	for i, u := range c {
		if !hasEdge(edges, u, c[(i+1)%len(c)]) {
			return false
		}
	}
	return len(c) > 0
}

func TestBuildIsStable(t *testing.T) {
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n, edges := randomEdges(r, 12)
		g, from := BuildIndexed(n, edges)
		want := slices.Clone(edges)
		slices.SortStableFunc(want, func(a, b Edge) int { return int(a.From) - int(b.From) })
		if !slices.Equal(edgesOf(g), want) || g.N() != n || g.M() != len(edges) {
			t.Errorf("Build(%d, %v) = %+v", n, edges, g)
		}
		for s, i := range from {
			must.Be(t, want[s] == edges[i], "slot %d is said to hold edge %d of %v in %+v", s, i, edges, g)
		}
		h := BuildFunc(n, func(emit func(u, v int32)) {
			for _, e := range edges {
				emit(e.From, e.To)
			}
		})
		if !slices.Equal(h.Off, g.Off) || !slices.Equal(h.Adj, g.Adj) {
			t.Errorf("BuildFunc %+v differs from Build %+v", h, g)
		}
	})
}

func TestReverse(t *testing.T) {
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n, edges := randomEdges(r, 12)
		g := Build(n, edges)
		want := slice.Map(edges, func(e Edge) Edge { return Edge{e.To, e.From} })
		slices.SortFunc(want, func(a, b Edge) int { return int(a.From-b.From)<<16 + int(a.To-b.To) })
		if got := edgesOf(g.Reverse()); !slices.Equal(got, want) {
			t.Errorf("the reverse of %v: %v", edges, got)
		}
		if back := g.Reverse().Reverse(); back.M() != g.M() || !slices.Equal(back.Off, g.Off) {
			t.Errorf("reversed twice: %+v, was %+v", back, g)
		}
	})
}

func TestBuilderRefusesWrongEdges(t *testing.T) {
	mustPanic := func(name string, f func()) {
		t.Helper()
		defer func() {
			must.Be(t, recover() != nil, "%s: no panic", name)
		}()
		f()
	}
	mustPanic("target too large", func() { Build(2, []Edge{{0, 2}}) })
	mustPanic("target negative", func() { Build(2, []Edge{{0, -1}}) })
	mustPanic("source too large", func() { Build(2, []Edge{{2, 0}}) })
	mustPanic("announced, not added", func() {
		b := NewBuilder(2)
		b.Count(0)
		b.Fill()
		b.CSR()
	})
}

func TestSortIndex(t *testing.T) {
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n := r.IntN(30)
		if r.IntN(20) == 0 {
			n = r.IntN(3000)
		}
		keys := make([]int64, n)
		shift := r.IntN(64)
		for i := range keys {
			keys[i] = int64(r.Uint64()) >> shift
		}
		want := make([]int32, len(keys))
		for i := range want {
			want[i] = int32(i)
		}
		slices.SortStableFunc(want, func(a, b int32) int {
			switch {
			case keys[a] < keys[b]:
				return -1
			case keys[a] > keys[b]:
				return 1
			}
			return 0
		})
		if got := SortIndex(keys); !slices.Equal(got, want) {
			t.Errorf("SortIndex(%.200v) = %v, want %v", keys, got, want)
		}
	})
}

func TestTopological(t *testing.T) {
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n, edges := randomEdges(r, 10)
		if r.IntN(2) == 0 {
			n, edges = randomDAG(r, 10)
		}
		g := Build(n, edges)
		d := distances(n, edges)
		cyclic := false
		for v := range n {
			cyclic = cyclic || d[v][v] > 0
		}
		priority := make([]int64, n)
		for v := range priority {
			priority[v] = int64(r.IntN(4)) - 2
		}
		order, ok := Topological(g)
		byPriority, ok2 := TopologicalBy(g, priority)
		if ok == cyclic || ok2 == cyclic {
			t.Errorf("cyclic %v, Topological says %v, TopologicalBy %v: %v", cyclic, ok, ok2, edges)
		}
		if ok != isTopological(g, order) || ok2 != isTopological(g, byPriority) {
			t.Errorf("orders %v, %v of %v", order, byPriority, edges)
		}
		if want := greedyOrder(g, priority); !slices.Equal(byPriority, want) {
			t.Errorf("TopologicalBy(%v, %v) = %v, want %v", edges, priority, byPriority, want)
		}
		c := FindCycle(g)
		if cyclic != (c != nil) || cyclic && !isCycle(edges, c) {
			t.Errorf("FindCycle(%v) = %v", edges, c)
		}
	})
}

// greedyOrder takes the best ready node by looking at all of them.
func greedyOrder(g *CSR, priority []int64) (order []int32) {
	out := make([]bool, g.N())
	for {
		best := int32(-1)
		for v := range int32(g.N()) {
			ready := !out[v]
			for u := range int32(g.N()) {
				ready = ready && (out[u] || !slices.Contains(g.Succ(u), v))
			}
			if ready && (best < 0 || priority[v] < priority[best]) {
				best = v
			}
		}
		if best < 0 {
			return order
		}
		out[best] = true
		order = append(order, best)
	}
}

func TestComponents(t *testing.T) {
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n, edges := randomEdges(r, 12)
		d := distances(n, edges)
		comp, count := Components(Build(n, edges))
		used := make([]bool, count)
		for u := range n {
			used[comp[u]] = true
			for v := range n {
				together := u == v || d[u][v] > 0 && d[v][u] > 0
				must.Equal(t, comp[u] == comp[v], together, "nodes %d and %d of %v: components %v", u, v, edges, comp)
			}
		}
		for _, e := range edges {
			must.Be(t, comp[e.From] <= comp[e.To], "edge %v goes back: components %v of %v", e, comp, edges)
		}
		must.Be(t, !slices.Contains(used, false), "component numbers of %v have gaps: %v of %d", edges, comp, count)
	})
}

func TestShortestCycle(t *testing.T) {
	s := &Searcher{}
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n, edges := randomEdges(r, 10)
		g := Build(n, edges)
		var within []int32
		inside := func(v int32) bool { return within == nil || slices.Contains(within, v) }
		if r.IntN(2) == 0 {
			within = []int32{}
			for v := range int32(n) {
				if r.IntN(3) > 0 {
					within = append(within, v)
				}
			}
		}
		induced := slice.Filter(edges, func(e Edge) bool { return inside(e.From) && inside(e.To) })
		d := distances(n, induced)
		best := 0
		for v := range n {
			if d[v][v] > 0 && (best == 0 || d[v][v] < best) {
				best = d[v][v]
			}
		}
		c, exact := s.ShortestCycle(g, within, 0)
		if !exact || len(c) != best || best > 0 && !isCycle(induced, c) {
			t.Errorf("ShortestCycle(%v, %v) = %v, %v; best is %d", edges, within, c, exact, best)
		}
		c, exact = s.ShortestCycle(g, within, 1+r.IntN(20))
		if exact && len(c) != best || c != nil && !isCycle(induced, c) {
			t.Errorf("bounded ShortestCycle(%v, %v) = %v, %v; best is %d", edges, within, c, exact, best)
		}
		all := distances(n, edges)
		v := int32(r.IntN(n))
		c = s.ShortestCycleThrough(g, v)
		if len(c) != all[v][v] || len(c) > 0 && (c[0] != v || !isCycle(edges, c)) {
			t.Errorf("ShortestCycleThrough(%v, %d) = %v; best is %d", edges, v, c, all[v][v])
		}
	})
}

func TestPaths(t *testing.T) {
	s := &Searcher{}
	eachSeed(t, rounds, func(t testing.TB, r *rand.Rand) {
		n, edges := randomEdges(r, 12)
		g := Build(n, edges)
		d := distances(n, edges)
		for u := range int32(n) {
			for v := range int32(n) {
				want := d[u][v]
				if u == v {
					want = 0
				}
				there := u == v || want > 0
				p := s.ShortestPath(g, u, v)
				if (p != nil) != there || there && (len(p) != want+1 || p[0] != u || p[want] != v) {
					t.Errorf("ShortestPath(%v, %d, %d) = %v; length is %d", edges, u, v, p, want)
				}
				for i := 1; i < len(p); i++ {
					must.Be(t, hasEdge(edges, p[i-1], p[i]), "ShortestPath(%v, %d, %d) = %v", edges, u, v, p)
				}
			}
		}
	})
}

// randomWindows draws times from a small range, so that ties, zero lengths and unbounded sides are
// common; a few windows are turned round.
func randomWindows(r *rand.Rand, n int) (rel, dl []int64) {
	span := 2 + r.IntN(12)
	rel, dl = make([]int64, n), make([]int64, n)
	for v := range n {
		rel[v] = int64(r.IntN(span))
		dl[v] = rel[v] + int64(r.IntN(4))
		switch r.IntN(20) {
		case 0:
			rel[v] = NoStart
		case 1:
			dl[v] = NoEnd
		case 2:
			rel[v], dl[v] = NoStart, NoEnd
		case 3:
			if r.IntN(4) == 0 {
				dl[v] = rel[v] - 1
			}
		}
	}
	return rel, dl
}

// The lemma of real-time order, against explicit real-time edges.
func TestWindowsEqualExplicitRealTime(t *testing.T) {
	holds, fails := 0, 0
	eachSeed(t, 100_000, func(t testing.TB, r *rand.Rand) {
		n, edges := randomDAG(r, 6)
		rel, dl := randomWindows(r, n)
		both := slices.Clone(edges)
		for u := range n {
			for v := range n {
				if dl[u] < rel[v] {
					both = append(both, Edge{int32(u), int32(v)})
				}
			}
		}
		g := Build(n, edges)
		topo, _ := Topological(g)
		_, want := Topological(Build(n, both))
		path, ok := Windows(g, topo, rel, dl)
		if ok != want {
			t.Errorf("Windows(%v, %v, %v) = %v, want %v", edges, rel, dl, ok, want)
			return
		}
		if !ok {
			fails++
			for i := 1; i < len(path); i++ {
				must.Be(t, hasEdge(edges, path[i-1], path[i]), "witness %v is no path of %v", path, edges)
			}
			if first, last := path[0], path[len(path)-1]; dl[last] >= rel[first] {
				t.Errorf("witness %v of %v: %d does not precede %d in %v, %v", path, edges, last, first, rel, dl)
			}
			return
		}
		holds++
	})
	if randtest.Whole() && (holds < 10_000 || fails < 10_000) {
		t.Errorf("%d hold, %d fail: the sample says little", holds, fails)
	}
}

// Errata B6: the chain has the reachability of all real-time edges, with O(n) edges.
func TestTimeChainEqualsExplicitRealTime(t *testing.T) {
	eachSeed(t, 3*rounds, func(t testing.TB, r *rand.Rand) {
		n := 1 + r.IntN(9)
		rel, dl := randomWindows(r, n)
		aux, edges := TimeChain(rel, dl)
		if aux > n || len(edges) > 2*n+aux {
			t.Errorf("%d auxiliary nodes, %d edges for %d nodes", aux, len(edges), n)
		}
		// Only auxiliary nodes may stand inside a path, so each node is split in two.
		var split []Edge
		for _, e := range edges {
			if e.From < int32(n) {
				e.From += int32(n + aux)
			}
			split = append(split, e)
		}
		d := distances(2*n+aux, split)
		for u := range n {
			for v := range n {
				if want := dl[u] < rel[v]; want != (d[n+aux+u][v] > 0) {
					t.Errorf("chain of %v, %v: %d before %d is not %v", rel, dl, u, v, want)
				}
			}
		}
	})
}

// isTopological reports whether order lists every node once and every edge goes forward in it.
func isTopological(g *CSR, order []int32) bool {
	n := g.N()
	if len(order) != n {
		return false
	}
	pos := make([]int32, n)
	for i, v := range order {
		if uint32(v) >= uint32(n) || pos[v] != 0 {
			return false
		}
		pos[v] = int32(i) + 1
	}
	for u := range int32(n) {
		for _, v := range g.Succ(u) {
			if pos[u] >= pos[v] {
				return false
			}
		}
	}
	return true
}
