package order

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// model is the naive twin: a list of edges, searched afresh for every question.
type model struct {
	n     int
	base  []graph.Edge
	edges []Edge
}

// distances gives the least cost of a path from one node to each (−1: none), by relaxation.
func (m *model) distances(from int32, cost func(int32) int8) []int {
	d := make([]int, m.n)
	for v := range d {
		d[v] = -1
	}
	d[from] = 0
	relax := func(u, v int32, c int) {
		if d[u] >= 0 && (d[v] < 0 || d[u]+c < d[v]) {
			d[v] = d[u] + c
		}
	}
	for range m.n {
		for _, e := range m.base {
			relax(e.From, e.To, 0)
		}
		for _, e := range m.edges {
			relax(e.From, e.To, int(cost(e.Tag)))
		}
	}
	return d
}

func (m *model) reaches(u, v int32) bool {
	return m.distances(u, func(int32) int8 { return 1 })[v] >= 0
}

func randomOrder(r *rand.Rand) (*Order, *model) {
	n := 1 + r.IntN(14)
	m := &model{n: n}
	switch r.IntN(3) {
	case 0:
		return New(n), m
	case 1:
		name := make([]int32, n)
		for i, v := range r.Perm(n) {
			name[i] = int32(v)
		}
		return FromTopological(n, name), m
	}
	name := r.Perm(n)
	for range r.IntN(n + 1) {
		if a, b := r.IntN(n), r.IntN(n); a < b {
			m.base = append(m.base, graph.Edge{From: int32(name[a]), To: int32(name[b])})
		}
	}
	g := graph.Build(n, m.base)
	topo, _ := graph.Topological(g)
	return FromGraph(g, topo), m
}

func TestOrderEqualsModelUnderRandomCalls(t *testing.T) {
	cycles, undone := 0, 0
	randtest.Seeds(t, 6000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		o, m := randomOrder(r)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d, base %v, edges %v: %s", seed, m.base, m.edges, fmt.Sprintf(format, args...))
		}
		var marks []int
		for range 40 {
			switch r.IntN(8) {
			case 0:
				if o.Mark() != len(m.edges) {
					fail("mark %d", o.Mark())
				}
				marks = append(marks, o.Mark())
			case 1:
				if len(marks) > 0 {
					i := r.IntN(len(marks))
					undone += len(m.edges) - marks[i]
					m.edges = m.edges[:marks[i]]
					o.Undo(marks[i])
					marks = marks[:i+r.IntN(2)]
				}
			case 2:
				if r.IntN(4) == 0 {
					m.n++
					o.Grow(m.n)
				}
			default:
				u, v, tag := int32(r.IntN(m.n)), int32(r.IntN(m.n)), int32(r.IntN(5))
				before := slices.Clone(o.pos)
				want := m.reaches(v, u)
				got := o.AddEdge(u, v, tag)
				if got != want {
					fail("AddEdge(%d, %d) says cycle %v", u, v, got)
				}
				if got {
					cycles++
				} else {
					m.edges = append(m.edges, Edge{u, v, tag})
				}
				var moved []int32
				for x := range o.pos {
					if o.pos[x] != before[x] {
						moved = append(moved, int32(x))
					}
				}
				if got && moved != nil {
					fail("refused edge moved %v", moved)
				}
				for _, x := range moved {
					if !slices.Contains(o.Moved(), x) {
						fail("%d moved, but Moved says %v", x, o.Moved())
					}
				}
				backward, forward := o.Region()
				for _, x := range backward {
					if !m.reaches(x, u) {
						fail("%d is in the backward part of %d → %d", x, u, v)
					}
				}
				for _, x := range forward {
					if !m.reaches(v, x) {
						fail("%d is in the forward part of %d → %d", x, u, v)
					}
				}
			}
			if err := o.CheckIntegrity(); err != nil {
				fail("%v", err)
			}
		}
		// Every path question, with a cost that makes some tags free.
		free := int32(r.IntN(5))
		cost := func(tag int32) int8 {
			if tag == free {
				return 0
			}
			return 1
		}
		for u := range int32(m.n) {
			d := m.distances(u, cost)
			for v := range int32(m.n) {
				path, ok := o.Path(u, v, cost)
				if ok != (d[v] >= 0) {
					fail("Path(%d, %d) = %v, %v; distance %d", u, v, path, ok, d[v])
				}
				at, sum := u, 0
				for _, e := range path {
					known := slices.Contains(m.edges, e)
					if e.Tag == Static {
						known = slices.Contains(m.base, graph.Edge{From: e.From, To: e.To})
					} else {
						sum += int(cost(e.Tag))
					}
					if !known || e.From != at {
						fail("Path(%d, %d) = %v", u, v, path)
					}
					at = e.To
				}
				if ok && (at != v || sum != d[v]) {
					fail("Path(%d, %d) = %v costs %d, best is %d", u, v, path, sum, d[v])
				}
			}
		}
		o.Undo(0)
		for v := range int32(o.N()) {
			if o.out(v) != none || o.in(v) != none {
				fail("lists of %d are not empty after undoing everything", v)
			}
		}
	})
	if randtest.Whole() && (cycles < 1000 || undone < 1000) {
		t.Errorf("%d cycles, %d edges undone: the sample says little", cycles, undone)
	}
}

func TestPathDefaultsToOneEach(t *testing.T) {
	o := New(4)
	for _, e := range []Edge{{0, 1, 7}, {1, 2, 8}, {2, 3, 9}, {0, 3, 10}} {
		must.Hold(t, !o.AddEdge(e.From, e.To, e.Tag), "%v closes a cycle", e)
	}
	path, ok := o.Path(0, 3, nil)
	must.Be(t, ok && slices.Equal(path, []Edge{{0, 3, 10}}), "Path = %v, %v", path, ok)
	if !o.AddEdge(3, 0, 11) || !o.AddEdge(2, 2, 12) {
		t.Error("cycles not seen")
	}
	must.Equal(t, o.Edge(1), Edge{1, 2, 8}, "Edge(1)")
}

func TestWrongCallsPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"undo to a later mark": func() { New(2).Undo(1) },
		"short order":          func() { FromTopological(3, []int32{0, 1}) },
		"repeated node":        func() { FromTopological(2, []int32{0, 0}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestAddingAndUndoingDoesNotAllocate(t *testing.T) {
	const n = 200
	o := New(n)
	r := rand.New(rand.NewPCG(3, 3))
	round := func() {
		mark := o.Mark()
		for range 300 {
			if u, v := int32(r.IntN(n)), int32(r.IntN(n)); o.AddEdge(u, v, 1) {
				o.Path(v, u, nil)
			}
		}
		o.Undo(mark)
	}
	for range 20 {
		round()
	}
	if a := testing.AllocsPerRun(20, round); a > 0.5 {
		t.Errorf("%v allocations a round", a)
	}
}
