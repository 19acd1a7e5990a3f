package closure

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// naive is the twin of all closures: every edge written down, the relation closed afresh by
// definition. At most 64 nodes.
type naive struct {
	in    Input
	added []Step
	reach []uint64
}

func (m *naive) isTime(u, v int32) bool {
	if m.in.End == nil {
		return false
	}
	s, e := m.in.Start[v], m.in.End[u]
	if s == graph.NoStart || e == graph.NoEnd {
		return false
	}
	return e+m.in.Skew < s
}

func (m *naive) isKnown(u, v int32) bool {
	return m.in.Known != nil && slices.Contains(m.in.Known.Succ(u), v)
}

func (m *naive) steps() (steps []Step) {
	for u := range int32(m.in.N) {
		for v := range int32(m.in.N) {
			if m.isTime(u, v) {
				steps = append(steps, Step{From: u, To: v, Kind: Time})
			}
			if m.isKnown(u, v) {
				steps = append(steps, Step{From: u, To: v, Kind: Known})
			}
		}
	}
	return append(steps, m.added...)
}

// close recomputes the relation; it reports a cycle.
func (m *naive) close() (cyclic bool) {
	n := m.in.N
	m.reach = make([]uint64, n)
	for _, s := range m.steps() {
		m.reach[s.From] |= 1 << s.To
	}
	for k := range n {
		for u := range n {
			if m.reach[u]>>k&1 != 0 {
				m.reach[u] |= m.reach[k]
			}
		}
	}
	for u := range n {
		cyclic = cyclic || m.reach[u]>>u&1 != 0
		m.reach[u] |= 1 << u
	}
	return cyclic
}

func (m *naive) Reaches(u, v int32) bool { return m.reach[u]>>v&1 != 0 }

// costs gives the least cost from u to every node (−1: none).
func (m *naive) costs(u int32, cost func(int32) int8) []int {
	d := make([]int, m.in.N)
	for v := range d {
		d[v] = -1
	}
	d[u] = 0
	steps := m.steps()
	for changed := true; changed; {
		changed = false
		for _, s := range steps {
			c := 0
			if s.Kind == Added {
				c = int(cost(s.Tag))
			}
			if d[s.From] >= 0 && (d[s.To] < 0 || d[s.From]+c < d[s.To]) {
				d[s.To] = d[s.From] + c
				changed = true
			}
		}
	}
	return d
}

// holds verifies a path step by step and returns its cost.
func (m *naive) holds(u, v int32, path []Step, cost func(int32) int8) (total int, err error) {
	times := 0
	at := u
	for _, s := range path {
		if s.From != at {
			return 0, fmt.Errorf("step %v does not start at %d", s, at)
		}
		at = s.To
		ok := false
		switch s.Kind {
		case Known:
			ok = m.isKnown(s.From, s.To)
		case Time:
			ok = m.isTime(s.From, s.To)
			times++
		case Added:
			ok = slices.Contains(m.added, s)
			total += int(cost(s.Tag))
		}
		if !ok {
			return 0, fmt.Errorf("step %v is no edge", s)
		}
	}
	if at != v {
		return 0, fmt.Errorf("ends at %d", at)
	}
	if times > 1 {
		return 0, fmt.Errorf("%d time edges", times)
	}
	return total, nil
}

func (m *naive) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "n=%d skew=%d start=%v end=%v known=", m.in.N, m.in.Skew, m.in.Start, m.in.End)
	if m.in.Known != nil {
		fmt.Fprint(&b, *m.in.Known)
	}
	fmt.Fprintf(&b, " added=%v", m.added)
	return b.String()
}

// randomInput draws windows of several characters: ties, zero lengths, unbounded sides, a few long
// ones, none at all. Known edges mostly follow a hidden order that fits the windows.
func randomInput(r *rand.Rand, maxN int) Input {
	n := 1 + r.IntN(maxN)
	in := Input{N: n, Skew: int64(r.IntN(3)) * int64(r.IntN(2))}
	span := 1 + r.IntN(3*n)
	length := 1 + r.IntN(6)
	long := r.IntN(4)
	middle := make([]int, n)
	if r.IntN(8) > 0 {
		in.Start, in.End = make([]int64, n), make([]int64, n)
		for v := range n {
			s := r.IntN(span)
			e := s + r.IntN(length)
			if v < long {
				s, e = r.IntN(1+span/4), span-r.IntN(1+span/4)
				if e < s {
					s, e = e, s
				}
			}
			in.Start[v], in.End[v] = int64(s), int64(e)
			middle[v] = 2*(s+r.IntN(e-s+1)) + r.IntN(2)
			switch r.IntN(40) {
			case 0:
				in.Start[v] = graph.NoStart
			case 1:
				in.End[v] = graph.NoEnd
			case 2:
				if r.IntN(20) == 0 {
					in.End[v] = in.Start[v] - 1 - in.Skew
				}
			}
		}
	}
	name := r.Perm(n)
	against := r.IntN(4) == 0
	var edges []graph.Edge
	for range r.IntN(2 * n) {
		u, v := r.IntN(n), r.IntN(n)
		if middle[u] > middle[v] || middle[u] == middle[v] && name[u] >= name[v] {
			u, v = v, u
		}
		if against && r.IntN(20) == 0 {
			u, v = v, u
		}
		if u != v || against && r.IntN(10) == 0 {
			edges = append(edges, graph.Edge{From: int32(u), To: int32(v)})
		}
	}
	if len(edges) > 0 || r.IntN(2) == 0 {
		in.Known = graph.Build(n, edges)
	}
	return in
}

type variant struct {
	kind       Kind
	stragglers int
}

func (v variant) String() string { return fmt.Sprintf("%s/stragglers=%d", v.kind, v.stragglers) }

// variants lists every kind, the compact ones with several numbers of stragglers.
func variants(r *rand.Rand, n int) (vs []variant) {
	for _, k := range Kinds() {
		vs = append(vs, variant{k, 0})
		if k == KindPurdomPlus || k == KindItalianoPlus {
			vs = append(vs, variant{k, 1 + r.IntN(3)}, variant{k, 1 + r.IntN(n)}, variant{k, -1})
		}
	}
	return vs
}

// TestClosuresEqualNaiveUnderRandomCalls builds all kinds, then adds, marks and undoes on all of them
// in step with the naive twin.
func TestClosuresEqualNaiveUnderRandomCalls(t *testing.T) {
	cyclicInputs, cycles, changes, undone, paths := 0, 0, 0, 0, 0
	seeds := uint64(2000)
	switch {
	case histtest.Long(false, true):
		seeds = 40_000
	}
	randtest.Seeds(t, seeds, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		maxN := 12
		if seed%8 == 0 {
			maxN = 60
		}
		m := &naive{in: randomInput(r, maxN)}
		n := int32(m.in.N)
		vs := variants(r, m.in.N)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d, %s: %s", seed, m, fmt.Sprintf(format, args...))
		}
		cyclic := m.close()
		var ds []Dynamic
		for _, v := range vs {
			d, cycle, err := New(v.kind, m.in, Options{Stragglers: v.stragglers})
			if err != nil {
				fail("%s: %v", v, err)
			}
			if (d == nil) != cyclic || (cycle != nil) != cyclic {
				fail("%s: cycle %v, want one: %v", v, cycle, cyclic)
			}
			if cyclic {
				if _, err := m.holds(cycle[0].From, cycle[0].From, cycle, nil); err != nil {
					fail("%s: cycle %v: %v", v, cycle, err)
				}
				continue
			}
			ds = append(ds, d)
		}
		if cyclic {
			cyclicInputs++
			return
		}
		same := func(when string) {
			t.Helper()
			for i, d := range ds {
				for u := range n {
					for v := range n {
						if d.Reaches(u, v) != m.Reaches(u, v) {
							fail("%s, %s: Reaches(%d, %d) = %v", when, vs[i], u, v, d.Reaches(u, v))
						}
					}
				}
				if d.Mark() != len(m.added) {
					fail("%s, %s: mark %d", when, vs[i], d.Mark())
				}
			}
		}
		same("built")
		free := int32(r.IntN(4))
		cost := func(tag int32) int8 {
			if tag%4 == free {
				return 0
			}
			return 1
		}
		explained := func(u, v int32) {
			t.Helper()
			want := m.costs(u, cost)[v]
			for i, d := range ds {
				path, ok := d.Path(u, v, cost)
				if ok != (want >= 0) {
					fail("%s: Path(%d, %d) = %v, %v", vs[i], u, v, path, ok)
				}
				if !ok {
					continue
				}
				paths++
				if total, err := m.holds(u, v, path, cost); err != nil || total != want {
					fail("%s: Path(%d, %d) = %v costs %d, best is %d: %v", vs[i], u, v, path, total, want, err)
				}
			}
		}
		var marks []int
		settled := 0
		for range 30 {
			switch op := r.IntN(12); {
			case op == 0:
				marks = append(marks, len(m.added))
			case op == 1 && len(marks) > 0:
				i := r.IntN(len(marks))
				undone += len(m.added) - marks[i]
				m.added = m.added[:marks[i]]
				for _, d := range ds {
					d.Undo(marks[i])
				}
				marks = marks[:i+1]
				m.close()
				same("undone")
			case op == 2 && r.IntN(6) == 0:
				for _, d := range ds {
					d.Settle()
				}
				settled = len(m.added)
				marks = marks[:0]
			default:
				u, v, tag := int32(r.IntN(int(n))), int32(r.IntN(int(n))), int32(r.IntN(8))
				wantCycle, wantChange := m.Reaches(v, u), !m.Reaches(u, v)
				for i, d := range ds {
					changed, cycle := d.AddEdge(u, v, tag)
					if cycle != wantCycle || !cycle && changed != wantChange {
						fail("%s: AddEdge(%d, %d) = %v, %v", vs[i], u, v, changed, cycle)
					}
				}
				if wantCycle {
					cycles++
					explained(v, u)
					break
				}
				m.added = append(m.added, Step{u, v, Added, tag})
				if wantChange {
					changes++
				}
				if m.close() {
					fail("twin is cyclic")
				}
				same(fmt.Sprintf("%d → %d added", u, v))
			}
			explained(int32(r.IntN(int(n))), int32(r.IntN(int(n))))
		}
		for _, d := range ds {
			d.Undo(settled)
		}
		m.added = m.added[:settled]
		m.close()
		same("all undone")
	})
	t.Logf("%d cyclic inputs, %d refused edges, %d changes, %d undone, %d paths", cyclicInputs, cycles, changes, undone,
		paths)
	if histtest.Whole() && min(cyclicInputs, cycles, changes, undone, paths) < int(seeds)/30 {
		t.Error("the sample says little")
	}
}

// Rows of the compact closure are never wider than the overlap of windows.
func TestCompactRowsLieWithinOverlap(t *testing.T) {
	randtest.Seeds(t, 2000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 5))
		m := &naive{in: randomInput(r, 30)}
		c, _, err := PurdomPlus(m.in, Options{Stragglers: -1})
		must.OK(t, err)
		if c == nil {
			return
		}
		nodes := make([]int32, m.in.N)
		for v := range nodes {
			nodes[c.rank[v]] = int32(v)
		}
		for u := range int32(m.in.N) {
			first, last := -1, -1
			for x, v := range nodes {
				if !m.isTime(u, v) && !m.isTime(v, u) {
					if first < 0 {
						first = x
					}
					last = x
				}
			}
			if r := c.rows[c.rank[u]]; int(r.lo) < first || int(r.hi) > last+1 {
				t.Fatalf("seed %d, %s: window of %d is [%d, %d), overlap [%d, %d]", seed, m, u, r.lo, r.hi, first, last)
			}
		}
	})
}

func TestInputErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		kind Kind
		in   Input
		want string
	}{
		"unknown kind":  {"floyd", Input{}, `unknown kind "floyd"`},
		"starts only":   {KindPurdom, Input{N: 1, Start: []int64{1}}, "1 starts and 0 ends"},
		"short windows": {KindPurdomPlus, Input{N: 2, Start: []int64{1}, End: []int64{2}}, "1 starts and 1 ends"},
		"negative skew": {KindItaliano, Input{N: 1, Skew: -1}, "negative skew -1"},
		"other graph":   {KindItalianoPlus, Input{N: 1, Known: graph.Build(2, nil)}, "the known graph has 2"},
		"negative size": {KindWarshall, Input{N: -1}, "-1 nodes"},
		"edge outside": {KindWarshall, Input{N: 1, Known: &graph.CSR{Off: []uint32{0, 1}, Adj: []int32{3}}},
			"0 → 3 leaves the graph of 1 nodes"},
	} {
		d, cycle, err := New(tc.kind, tc.in, Options{})
		must.Be(t, d == nil && cycle == nil && err != nil && strings.Contains(err.Error(), tc.want),
			"%s: %v, %v, %v; want an error with %q", name, d, cycle, err, tc.want)
	}
	for _, k := range Kinds() {
		if _, _, err := New(k, Input{N: 1000}, Options{MaxBytes: 1000}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s of 1000 nodes in 1000 bytes: %v", k, err)
		}
		d, _, err := New(k, Input{}, Options{})
		must.Be(t, err == nil && d != nil && d.Mark() == 0, "%s of nothing: %v, %v", k, d, err)
	}
}

func TestUndoPastSettledPanics(t *testing.T) {
	for _, k := range Kinds() {
		d, _, _ := New(k, Input{N: 3}, Options{})
		d.AddEdge(0, 1, 0)
		d.Settle()
		func() {
			defer func() { must.Be(t, recover() != nil, "%s: no panic", k) }()
			d.Undo(0)
		}()
	}
}

// Deep chains must not be walked by recursion, and long cycles must come back whole.
func TestLongChainAndLongCycle(t *testing.T) {
	const n = 200_000
	edges := make([]graph.Edge, 0, n)
	start, end := make([]int64, n), make([]int64, n)
	for v := range int32(n) {
		if v > 0 {
			edges = append(edges, graph.Edge{From: v - 1, To: v})
		}
		start[v], end[v] = int64(v), int64(v)+20
	}
	in := Input{N: n, Start: start, End: end, Known: graph.Build(n, edges)}
	for _, build := range []func(Input, Options) (*Compact, []Step, error){PurdomPlus, ItalianoPlus} {
		in.Known = graph.Build(n, edges)
		c, cycle, err := build(in, Options{})
		if err != nil || cycle != nil {
			t.Fatal(cycle, err)
		}
		must.Be(t, c.Reaches(0, n-1) && !c.Reaches(n-1, 0) && c.Reaches(100, 101), "wrong answers on a chain")
		in.Known = graph.Build(n, append(edges[:len(edges):len(edges)], graph.Edge{From: n - 1, To: 0}))
		if _, cycle, _ = build(in, Options{}); len(cycle) != n {
			t.Errorf("cycle of %d steps, want %d", len(cycle), n)
		}
	}
}
