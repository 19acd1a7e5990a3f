package acyclic_test

import (
	"slices"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// TestWindowPropagatesAll: on graphs whose windows are several words, and wider or narrower with the seed, literals are
// told and taken back at random; rows and columns stay right, and exactly those literals are propagated whose edges
// would close a cycle.
func TestWindowPropagatesAll(t *testing.T) {
	told, propagated, conflicts := 0, 0, 0
	randtest.Seeds(t, 30, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(300 + seed)
		n := 65 + r.IntN(400)
		chains := 2 + r.IntN(12)
		var known []graph.Edge
		for v := chains; v < n; v++ {
			known = append(known, graph.Edge{From: int32(v - chains), To: int32(v)})
			if r.IntN(3) == 0 {
				known = append(known, graph.Edge{From: int32(v - 1 - r.IntN(chains*2-1)%v), To: int32(v)})
			}
		}
		base := graph.Build(n, known)
		topo, ok := graph.Topological(base)
		if !ok {
			t.Fatal("known edges go forward")
		}
		w := acyclic.NewWindow(base, topo, acyclic.MaxWindowWords)
		for v := range int32(n) {
			before, after := int64(0), int64(0)
			from, to := w.Span(v)
			for x := range int32(n) {
				a, b := w.Reaches(x, v), w.Reaches(v, x)
				if a {
					before++
				}
				if b {
					after++
				}
				if p := w.Rank(x); !a && !b && (p < from || p >= to) {
					t.Fatalf("seed %d: %d is open to %d and outside its window", seed, x, v)
				}
			}
			must.Same(t, w.Middle(v), before-after, "seed %d: the middle of %d", seed, v)
		}
		s := solver.New(solver.Options{})
		vars := 150
		s.NewVars(vars)
		var guards []acyclic.Guard
		for v := range vars {
			for range 1 + r.IntN(2) {
				x := r.IntN(n)
				y := min(n-1, max(0, x+r.IntN(6*chains)-3*chains))
				guards = append(guards, guard(solver.Pos(solver.Var(v)), int32(x), int32(y)))
			}
		}
		half := len(guards) / 2
		w.Attach(s, guards[:half])
		w.Add(guards[half:]...)
		impossible := [][]solver.Lit{w.Propagate()} // by level
		impossible[0] = slices.Clone(impossible[0])
		value := make([]bool, vars)
		var trail []int // by level, from 1: the variable told
		for range 120 {
			v := r.IntN(vars)
			if value[v] || len(trail) > 0 && r.IntN(4) == 0 {
				to := r.IntN(len(trail) + 1)
				if len(trail) == 0 {
					continue
				}
				if to == len(trail) {
					to--
				}
				w.Backtrack(to)
				for _, x := range trail[to:] {
					value[x] = false
				}
				trail, impossible = trail[:to], impossible[:to+1]
				continue
			}
			l := solver.Pos(solver.Var(v))
			bad := false
			for _, x := range impossible {
				bad = bad || slices.Contains(x, l.Not())
			}
			told++
			w.NewLevel()
			trail, impossible = append(trail, v), append(impossible, nil)
			value[v] = true
			if c := w.Assign(l); c != nil {
				conflicts++
				// Of two edges of one literal each may be fine and both together not.
				must.Hold(t, w.Reaches(0, 0) && slices.Contains(c, l.Not()), "seed %d: conflict %v", seed, c)
				w.Backtrack(len(trail) - 1)
				value[v] = false
				trail, impossible = trail[:len(trail)-1], impossible[:len(impossible)-1]
				continue
			}
			must.Hold(t, !bad, "seed %d: %v was impossible and is accepted", seed, l)
			impossible[len(trail)] = slices.Clone(w.Propagate())
			propagated += len(impossible[len(trail)])
			must.OK(t, w.CheckIntegrity(), "seed %d", seed)
			for _, g := range guards {
				if value[g.Lit.Var()] {
					continue
				}
				known := false
				for _, x := range impossible {
					known = known || slices.Contains(x, g.Lit.Not())
				}
				if w.Reaches(g.To, g.From) && !known {
					t.Fatalf("seed %d: %v would close a cycle by %d→%d and was not propagated", seed, g.Lit, g.From,
						g.To)
				}
			}
			for _, x := range impossible[len(trail)] {
				if !slices.ContainsFunc(guards, func(g acyclic.Guard) bool {
					return g.Lit == x.Not() && w.Reaches(g.To, g.From)
				}) {
					t.Fatalf("seed %d: %v was propagated, and no edge of its negation would close a cycle", seed, x)
				}
			}
		}
	})
	t.Log(told, propagated, conflicts)
	if randtest.Whole() && (told < 1000 || propagated < 300 || conflicts < 100) {
		t.Errorf("too easy: %d told, %d propagated, %d conflicts", told, propagated, conflicts)
	}
}

// A graph without edges of so many nodes that its windows are too wide is refused.
func TestWindowTooWide(t *testing.T) {
	const n = 40_000
	order := make([]int32, n)
	for v := range order {
		order[v] = int32(v)
	}
	if acyclic.NewWindow(graph.Build(n, nil), order, acyclic.MaxWindowWords) != nil {
		t.Error("windows of 40,000² bits were made")
	}
}
