package polygraph_test

import (
	"context"
	"slices"
	"testing"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/polygraph"
)

var levels = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}

// each calls f with the polygraphs of random histories that reach one; make makes it without choices.
func each(t *testing.T, seeds uint64, f func(t testing.TB, seed uint64, h *history.History, l level.Level, timed bool,
	make func() *polygraph.Polygraph)) {
	t.Helper()
	n := 0
	histtest.Each(t, uint64(seeds), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%2 == 0, Unknown: seed%3 == 0,
			NoTimes: seed%5 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 || v.Ambiguous() {
			return
		}
		_, missing := polygraph.MissingTime(h)
		for _, l := range levels {
			if l.RealTime() && missing {
				continue
			}
			n++
			f(t, seed, h, l, l.RealTime(), func() *polygraph.Polygraph {
				return polygraph.New(v, l, polygraph.Options{RealTime: l.RealTime()})
			})
		}
	})
	must.Be(t, !histtest.Whole() || n >= int(seeds), "%d polygraphs of %d histories only", n, seeds)
}

// acyclic is by definition: no node reaches itself over the edges and real time, listed one by one.
func acyclic(p *polygraph.Polygraph, edges []polygraph.Edge) bool {
	reach := matrix(p, edges)
	for v := range p.N {
		if reach[v][v] {
			return false
		}
	}
	return true
}

func matrix(p *polygraph.Polygraph, edges []polygraph.Edge) [][]bool {
	reach := make([][]bool, p.N)
	for u := range p.N {
		reach[u] = make([]bool, p.N)
		for v := range p.N {
			reach[u][v] = p.Before(int32(u), int32(v))
		}
	}
	for _, e := range edges {
		reach[e.From][e.To] = true
	}
	for k := range p.N {
		for u := range p.N {
			for v := range p.N {
				reach[u][v] = reach[u][v] || reach[u][k] && reach[k][v]
			}
		}
	}
	return reach
}

// completions calls f for each way to settle the choices that leaves the graph acyclic, with its edges.
func completions(p *polygraph.Polygraph, f func(edges []polygraph.Edge)) {
	for way := range 1 << len(p.Choices) {
		edges := slices.Clone(p.Known)
		for i, c := range p.Choices {
			a, b := c.Either()
			if way>>i&1 != 0 {
				a, b = c.Or()
			}
			p.Side(a, b, func(e polygraph.Edge) bool { edges = append(edges, e); return true })
		}
		if acyclic(p, edges) {
			f(edges)
		}
	}
}

func count(p *polygraph.Polygraph) (n int) {
	completions(p, func([]polygraph.Edge) { n++ })
	return n
}

// TestPruneKeepsCompletions: pruning drops no acyclic completion and adds none, edge by edge and round by round alike.
func TestPruneKeepsCompletions(t *testing.T) {
	settled, conflicts := 0, 0
	each(t, 1500, func(t testing.TB, seed uint64, h *history.History, l level.Level, timed bool,
		mk func() *polygraph.Polygraph) {
		p := mk()
		p.AllPairs()
		if len(p.Choices) > 10 {
			return
		}
		want := count(p)
		in := closure.Input{N: p.N, Start: p.Start, End: p.End, Known: p.Graph(true)}
		reach, cycle, err := closure.New(closure.KindPurdomPlus, in, closure.Options{})
		must.OK(t, err)
		if cycle != nil {
			must.Same(t, want, 0, "seed %d, %s: a cycle in the known graph; completions", seed, l)
			return
		}
		conflict, err := p.Prune(context.Background(), reach)
		must.OK(t, err)
		settled += len(p.Settled)
		if conflict != nil {
			conflicts++
			if want != 0 {
				t.Fatalf("seed %d, %s: a conflict, %d completions\n%s", seed, l, want, notation.Format(h))
			}
			cyclesClose(t, p, p.ConflictCycles(conflict))
			return
		}
		if got := count(p); got != want {
			t.Fatalf("seed %d, %s: %d completions after pruning, %d before\n%s", seed, l, got, want, notation.Format(h))
		}
		// Round by round, over closures built anew.
		q := mk()
		q.AllPairs()
		for {
			m, cycle, err := closure.Purdom(closure.Input{N: q.N, Start: q.Start, End: q.End, Known: q.Graph(false)},
				closure.Options{})
			must.OK(t, err)
			must.Same(t, cycle == nil, true, "seed %d, %s: rounds find no cycle where single edges find none", seed, l)
			n, conflict := q.PruneRound(m)
			must.Same(t, conflict == nil, true, "seed %d, %s: rounds find no conflict where single edges find none",
				seed, l)
			if n == 0 {
				break
			}
		}
		must.Hold(t, slices.Equal(p.Choices, q.Choices),
			"seed %d, %s: rounds leave %v, single edges %v", seed, l, q.Choices, p.Choices)
	})
	if histtest.Whole() && (settled < 500 || conflicts < 50) {
		t.Errorf("%d settled, %d conflicts only", settled, conflicts)
	}
}

// TestReductionsKeepVerdicts: avoidance and chains leave a completion iff all pairs do.
func TestReductionsKeepVerdicts(t *testing.T) {
	yes, no := 0, 0
	each(t, 1500, func(t testing.TB, seed uint64, h *history.History, l level.Level, timed bool,
		mk func() *polygraph.Polygraph) {
		all := mk()
		all.AllPairs()
		if len(all.Choices) > 10 {
			return
		}
		want := count(all) > 0
		if want {
			yes++
		} else {
			no++
		}
		chains := mk()
		chains.Combine()
		if got := count(chains) > 0; got != want {
			t.Fatalf("seed %d, %s: with chains %v, with all pairs %v\n%s", seed, l, got, want, notation.Format(h))
		}
		if timed {
			some := mk()
			some.Overlapping()
			if got := count(some) > 0; got != want {
				t.Fatalf("seed %d, %s: with overlapping pairs %v, with all %v\n%s", seed, l, got, want,
					notation.Format(h))
			}
		}
		// Each completion has an order that respects its edges, and only those have.
		completions(all, func(edges []polygraph.Edge) {
			order, ok := all.Order(edges[len(all.Known):])
			must.Hold(t, ok && len(order) == all.N, "seed %d, %s: an acyclic completion has no order", seed, l)
			at := make([]int, all.N)
			for i, x := range order {
				at[all.Node[x]] = i
			}
			for _, e := range edges {
				must.Hold(t, at[e.From] < at[e.To], "seed %d, %s: the order breaks %+v", seed, l, e)
			}
			for u := range int32(all.N) {
				for v := range int32(all.N) {
					must.Hold(t, !all.Before(u, v) || at[u] < at[v], "seed %d, %s: the order breaks real time", seed, l)
				}
			}
		})
	})
	if histtest.Whole() && (yes < 500 || no < 200) {
		t.Errorf("%d have completions, %d have none", yes, no)
	}
}

// cyclesClose checks that cycles are cycles of known edges, real time, and edges that some choice would add.
func cyclesClose(t testing.TB, p *polygraph.Polygraph, cycles [][]polygraph.Edge) {
	t.Helper()
	for _, c := range cycles {
		must.Hold(t, len(c) != 0, "an empty cycle")
		for i, e := range c {
			must.Same(t, e.To, c[(i+1)%len(c)].From, "not a cycle: %+v", c)
			must.Hold(t, e.Dep != evidence.RT || p.Before(e.From, e.To), "%+v is not real time", e)
		}
	}
}

// TestPaths: the finder's paths are as short as breadth-first search finds over real time listed edge by edge;
// KnownCycle finds a cycle iff there is one; Reached is the closure.
func TestPaths(t *testing.T) {
	found, cyclic := 0, 0
	each(t, 2500, func(t testing.TB, seed uint64, h *history.History, l level.Level, timed bool,
		mk func() *polygraph.Polygraph) {
		p := mk()
		if timed {
			p.Overlapping()
		}
		if c := p.KnownCycle(); (c == nil) != acyclic(p, p.Known) {
			t.Fatalf("seed %d, %s: cycle %v; acyclic by definition %v", seed, l, c, c != nil)
		} else if c != nil {
			cyclic++
			cyclesClose(t, p, [][]polygraph.Edge{c})
			cyclesClose(t, p, p.Reasons([][]polygraph.Edge{c}))
			// Where edges contradict time, not all paths are found, but a cycle is.
			f := p.NewFinder(nil)
			if !slices.ContainsFunc(p.Known, func(e polygraph.Edge) bool {
				_, ok := f.Path(e.To, e.From, nil)
				return ok
			}) {
				t.Fatalf("seed %d, %s: no edge closes a cycle", seed, l)
			}
			return
		}
		reach := matrix(p, p.Known)
		f := p.NewFinder(nil)
		var nodes []int32
		for v := range int32(p.N) {
			nodes = append(nodes, v)
		}
		for u := range int32(p.N) {
			var want []int32
			dist := distances(p, u)
			for v := range int32(p.N) {
				if reach[u][v] && v != u {
					want = append(want, v)
				}
				path, ok := f.Path(u, v, nil)
				if ok != reach[u][v] || ok && len(path) != dist[v] {
					t.Fatalf("seed %d, %s: path %d→%d %v; reaches %v, distance %d\n%s", seed, l, u, v, path,
						reach[u][v], dist[v], notation.Format(h))
				}
				if !ok {
					continue
				}
				found++
				must.Hold(t, path[0].From == u && path[len(path)-1].To == v,
					"seed %d, %s: the path %d→%d is %v", seed, l, u, v, path)
			}
			if got := f.Reached(u, nodes); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %s: %d reaches %v; want %v", seed, l, u, got, want)
			}
		}
	})
	if histtest.Whole() && (found < 5000 || cyclic < 100) {
		t.Errorf("%d paths, %d cyclic graphs only", found, cyclic)
	}
}

// distances is breadth-first search from u, which itself is reached only by a cycle.
func distances(p *polygraph.Polygraph, u int32) []int {
	dist := make([]int, p.N)
	edge := func(a, b int32) bool {
		return p.Before(a, b) || slices.ContainsFunc(p.Known, func(e polygraph.Edge) bool {
			return e.From == a && e.To == b
		})
	}
	level := []int32{u}
	for d := 1; len(level) > 0; d++ {
		var next []int32
		for _, a := range level {
			for b := range int32(p.N) {
				if dist[b] == 0 && edge(a, b) {
					dist[b] = d
					next = append(next, b)
				}
			}
		}
		level = next
	}
	return dist
}
