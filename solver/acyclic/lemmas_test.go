package acyclic

import (
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/solver"
)

// TestLemmas: a cycle is found iff the guards that a clause denies close one with the known edges, and it is one of
// these.
func TestLemmas(t *testing.T) {
	found := 0
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 4))
		n, vars := int32(2+rng.IntN(6)), 1+rng.IntN(5)
		var known []graph.Edge
		for range rng.IntN(int(n)) {
			if u, v := rng.Int32N(n), rng.Int32N(n); u < v {
				known = append(known, graph.Edge{From: u, To: v})
			}
		}
		var guards []Guard
		for range rng.IntN(10) {
			u, v := rng.Int32N(n), rng.Int32N(n)
			if u != v {
				guards = append(guards, Guard{Lit: solver.Lit(rng.IntN(2 * vars)), From: u, To: v})
			}
		}
		var clause []solver.Lit
		for v := range vars {
			if rng.IntN(3) > 0 {
				clause = append(clause, solver.Lit(2*v+rng.IntN(2)))
			}
		}
		base := graph.Build(int(n), known)
		topo, _ := graph.Topological(base)
		ord := order.FromGraph(base, topo)
		all := slices.Clone(known)
		for _, g := range guards {
			if slices.Contains(clause, g.Lit.Not()) {
				all = append(all, graph.Edge{From: g.From, To: g.To})
			}
		}
		_, acyclic := graph.Topological(graph.Build(int(n), all))
		closing, path, ok := NewLemmas(guards, vars).Cycle(ord, clause)
		must.Hold(t, ok != acyclic, "seed %d: a cycle is found: %v, the graph is acyclic: %v", seed, ok, acyclic)
		must.Equal(t, ord.Mark(), 0, "seed %d: edges that the order keeps", seed)
		if !ok {
			return
		}
		found++
		at := guards[closing].To
		use := []int32{closing}
		for _, e := range path {
			must.Same(t, e.From, at, "seed %d: where the path goes on", seed)
			at = e.To
			if e.Tag == order.Static {
				if !slices.Contains(known, graph.Edge{From: e.From, To: e.To}) {
					t.Fatalf("seed %d: %d → %d is not known", seed, e.From, e.To)
				}
				continue
			}
			use = append(use, -1-e.Tag)
			if g := guards[-1-e.Tag]; g.From != e.From || g.To != e.To {
				t.Fatalf("seed %d: guard %v explains %v", seed, g, e)
			}
		}
		must.Equal(t, at, guards[closing].From, "seed %d: where the path ends", seed)
		for _, i := range use {
			must.Hold(t, slices.Contains(clause, guards[i].Lit.Not()), "seed %d: guard %d is not the clause's", seed, i)
		}
	})
	must.Hold(t, !randtest.Whole() || found >= 50, "%d cycles", found)
}
