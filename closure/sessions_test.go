package closure_test

import (
	"math/rand/v2"
	"testing"

	"isovet/closure"
	"isovet/internal/graph"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// reached is the naive twin: a search.
func reached(n int, edges []graph.Edge, u int32) []bool {
	seen := make([]bool, n)
	seen[u] = true
	for more := true; more; {
		more = false
		for _, e := range edges {
			if seen[e.From] && !seen[e.To] {
				seen[e.To], more = true, true
			}
		}
	}
	return seen
}

// TestSessionsEqualsSearch: built at once, edge by edge and built again, the closure reaches what a search
// reaches, and its cuts say the same as Reaches; what it says of cycles is true.
func TestSessionsEqualsSearch(t *testing.T) {
	cycles, added := 0, 0
	randtest.Seeds(t, 1500, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 71))
		n := 1 + r.IntN(14)
		chains := make([][]int32, 1+r.IntN(4))
		var edges []graph.Edge // those of chains too
		for _, x := range r.Perm(n) {
			c := r.IntN(len(chains))
			if k := len(chains[c]); k > 0 {
				edges = append(edges, graph.Edge{From: chains[c][k-1], To: int32(x)})
			}
			chains[c] = append(chains[c], int32(x))
		}
		var known []graph.Edge
		for range r.IntN(n) {
			e := graph.Edge{From: int32(r.IntN(n)), To: int32(r.IntN(n))}
			known = append(known, e)
		}
		all := append(edges, known...)
		s, ok, err := closure.NewSessions(graph.Build(n, known), chains)
		must.OK(t, err)
		if _, acyclic := graph.Topological(graph.Build(n, all)); acyclic != ok {
			t.Fatalf("seed %d: acyclic %v, built %v", seed, acyclic, ok)
		}
		if !ok {
			cycles++
			return
		}
		agree := func(edges []graph.Edge) {
			t.Helper()
			for u := range int32(n) {
				seen := reached(n, edges, u)
				for v := range int32(n) {
					c, p := s.Chain(v)
					d, q := s.Chain(u)
					if s.At(c, p) != v || s.Reaches(u, v) != seen[v] || (s.After(u)[c] <= p) != seen[v] ||
						(s.Before(v)[d] > q) != seen[v] {
						t.Fatalf("seed %d: %d reaches %d: search says %v", seed, u, v, seen[v])
					}
					if u != v && seen[v] && s.Middle(u) >= s.Middle(v) {
						t.Fatalf("seed %d: the middles of %d and %d are against their path", seed, u, v)
					}
				}
			}
		}
		agree(all)
		s.Rest()
		for range 3 * n {
			u, v := int32(r.IntN(n)), int32(r.IntN(n))
			back, forth := reached(n, all, v)[u], reached(n, all, u)[v]
			changed, cycle := s.AddEdge(u, v)
			must.Hold(t, cycle == back && changed == (!back && !forth),
				"seed %d: adding %d→%d: changed %v, cycle %v", seed, u, v, changed, cycle)
			if cycle {
				continue
			}
			if changed && (!s.Touched(u) || !s.Touched(v)) {
				t.Fatalf("seed %d: the ends of %d→%d are not touched", seed, u, v)
			}
			added++
			all = append(all, graph.Edge{From: u, To: v})
			agree(all)
		}
		must.Hold(t, s.Rebuild(graph.Build(n, all)), "seed %d: a cycle where there is none", seed)
		agree(all)
	})
	if randtest.Whole() && (cycles < 100 || added < 1000) {
		t.Fatalf("%d cycles, %d edges added: the test does not test", cycles, added)
	}
}

// TestSessionsRefuses: chains that do not cover the nodes once each.
func TestSessionsRefuses(t *testing.T) {
	g := graph.Build(3, nil)
	for _, chains := range [][][]int32{{{0, 1}}, {{0, 1}, {1, 2}}, {{0, 1, 2, 3}}, {{0, -1, 2}}} {
		if _, _, err := closure.NewSessions(g, chains); err == nil {
			t.Errorf("%v is accepted", chains)
		}
	}
}
