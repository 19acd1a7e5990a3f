package closure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// The paper is Vbox (arXiv:2503.05163) §4.4; Vnn are the rows of the errata about it.

// ranked is an input whose node ids are places in start order, with the paper's l and r.
type ranked struct {
	*naive
	l, r []int // first and last overlapping transaction
}

func rank(in Input) *ranked {
	p := &ranked{naive: &naive{in: in}}
	for i := range int32(in.N) {
		first, last := int(i), int(i)
		for j := range int32(in.N) {
			if !p.isTime(i, j) && !p.isTime(j, i) {
				first, last = min(first, int(j)), max(last, int(j))
			}
		}
		p.l, p.r = append(p.l, first), append(p.r, last)
	}
	return p
}

// randomRanked draws small inputs with windows, sorted by start.
func randomRanked(r *rand.Rand, maxN int) *ranked {
	n := 2 + r.IntN(maxN-1)
	in := Input{N: n, Start: make([]int64, n), End: make([]int64, n)}
	for v := range n {
		in.Start[v] = int64(r.IntN(2 * n))
	}
	slices.Sort(in.Start)
	for v := range n {
		in.End[v] = in.Start[v] + int64(r.IntN(6))
	}
	var edges []graph.Edge
	for range r.IntN(n + 1) {
		if u, v := int32(r.IntN(n)), int32(r.IntN(n)); u != v {
			edges = append(edges, graph.Edge{From: u, To: v})
		}
	}
	in.Known = graph.Build(n, edges)
	return rank(in)
}

// defect names a line of Algorithm 1 to be run as printed.
type defect int

const (
	corrected defect = iota
	line22           // r_i < j < o_g
	line16           // d_i ≤ j ≤ r_i
	line14           // s_i not trimmed to d_i
)

// algorithm1 is the paper's Algorithm 1 to the letter, each line corrected by V21 but the given one.
// It returns the lookup, which decides by time outside [l, r].
func algorithm1(p *ranked, d defect) (reaches func(i, j int) bool) {
	n := p.in.N
	offset, size := make([]int, n), 0
	for i := range n {
		offset[i] = size
		size += p.r[i] - p.l[i] + 1
	}
	R := make([]bool, size)
	edges := func(i int) []int { // E′
		return slice.Map(p.in.Known.Succ(int32(i)), func(j int32) int { return int(j) })
	}
	var queue []int
	visited := make([]bool, n)
	og := n - 1
	if d == line22 {
		og = n
	}
	var dfs func(i int)
	dfs = func(i int) {
		visited[i] = true // on entry: the graph is acyclic here (V10)
		for _, j := range edges(i) {
			if !visited[j] {
				dfs(j)
			}
		}
		for j := p.r[i] + 1; j < og || d != line22 && j == og; j++ {
			if !visited[j] {
				dfs(j)
			}
		}
		queue = append(queue, i)
		og = min(og, p.r[i])
	}
	for i := range n {
		if !visited[i] {
			dfs(i)
		}
	}
	s := make([]map[int]bool, n)
	lim := slices.Clone(p.r) // d of the paper: every j > lim[i] is reached
	for _, i := range queue {
		s[i], lim[i] = map[int]bool{i: true}, p.r[i]
		rm := n - 1 // r of the time successor that ends first
		first := -1
		for j := p.r[i] + 1; j < n; j++ {
			if first < 0 || p.in.End[j] < p.in.End[first] {
				first, rm = j, p.r[j]
			}
		}
		merge := func(j int) {
			for x := range s[j] {
				s[i][x] = true
			}
			lim[i] = min(lim[i], lim[j])
		}
		for _, j := range edges(i) {
			if j <= rm {
				merge(j)
			}
		}
		for j := p.r[i] + 1; j <= rm; j++ {
			merge(j)
		}
		if d != line14 {
			for x := range s[i] {
				if x > lim[i] {
					delete(s[i], x)
				}
			}
		}
		put := func(j int) {
			if at := offset[i] + j - p.l[i]; at >= 0 && at < len(R) {
				R[at] = true
			}
		}
		for x := range s[i] {
			put(x)
		}
		from := lim[i] + 1
		if d == line16 {
			from = lim[i]
		}
		for j := from; j <= p.r[i]; j++ {
			put(j)
		}
	}
	return func(i, j int) bool {
		if j < p.l[i] || j > p.r[i] {
			return j > p.r[i]
		}
		return R[offset[i]+j-p.l[i]]
	}
}

// wrongPair finds a pair on which the lookup differs from the definition.
func wrongPair(p *ranked, reaches func(i, j int) bool) (string, bool) {
	for i := range p.in.N {
		for j := range p.in.N {
			if want := p.Reaches(int32(i), int32(j)); reaches(i, j) != want {
				return fmt.Sprintf("r(%d, %d) is not %v", i, j, want), true
			}
		}
	}
	return "", false
}

// V21: Algorithm 1 with all corrections is right, and wrong if any one of them is left out.
func TestV21Algorithm1(t *testing.T) {
	wrong := make([]int, line14+1)
	graphs := 0
	randtest.Seeds(t, 20_000, func(t testing.TB, seed uint64) {
		p := randomRanked(rand.New(rand.NewPCG(seed, 21)), 8)
		if p.close() {
			return
		}
		graphs++
		for d := corrected; d <= line14; d++ {
			if pair, bad := wrongPair(p, algorithm1(p, d)); bad {
				if wrong[d]++; d == corrected {
					t.Fatalf("seed %d, %s: %s", seed, p, pair)
				}
			}
		}
		c, _, err := PurdomPlus(p.in, Options{})
		must.OK(t, err)
		if pair, bad := wrongPair(p, func(i, j int) bool { return c.Reaches(int32(i), int32(j)) }); bad {
			t.Fatalf("seed %d, %s: PurdomPlus: %s", seed, p, pair)
		}
		// The one that is measured in Figure 8a.
		if c, _, err = Algorithm1(p.in, Options{}); err != nil {
			t.Fatal(err)
		}
		if pair, bad := wrongPair(p, func(i, j int) bool { return c.Reaches(int32(i), int32(j)) }); bad {
			t.Fatalf("seed %d, %s: Algorithm1: %s", seed, p, pair)
		}
	})
	t.Logf("%d graphs; wrong with line 22, 16, 14 as printed: %v", graphs, wrong[1:])
	for d := line22; d <= line14; d++ {
		must.Be(t, !randtest.Whole() || wrong[d] != 0, "defect %d does no harm: this test shows nothing", d)
	}
}

// V21, line 22: transaction 1 precedes 2 in real time, 2 precedes 0 by a known edge.
func TestV21Line22LosesPairs(t *testing.T) {
	p := rank(Input{N: 3, Start: []int64{0, 1, 3}, End: []int64{4, 2, 8}, Known: graph.Build(3,
		[]graph.Edge{{From: 2, To: 0}})})
	must.Be(t, !algorithm1(p, line22)(1, 0) && algorithm1(p, corrected)(1, 0),
		"the fixture does not tell the line as printed from the corrected one")
	for _, k := range Kinds() {
		if d, _, _ := New(k, p.in, Options{}); !d.Reaches(1, 0) || d.Reaches(0, 1) {
			t.Errorf("%s: 1 must reach 0", k)
		}
	}
}

// V21, line 16: two overlapping transactions without an edge.
func TestV21Line16InventsPairs(t *testing.T) {
	p := rank(Input{N: 2, Start: []int64{0, 1}, End: []int64{5, 6}, Known: graph.Build(2, nil)})
	must.Be(t, algorithm1(p, line16)(0, 1) && !algorithm1(p, corrected)(0, 1),
		"the fixture does not tell the line as printed from the corrected one")
	for _, k := range Kinds() {
		if d, _, _ := New(k, p.in, Options{}); d.Reaches(0, 1) || d.Reaches(1, 0) {
			t.Errorf("%s: unrelated transactions reach each other", k)
		}
	}
}

// V22: outside [l, r] time alone decides, and entries inside it that do not overlap are false.
func TestV22OutsideTheWindowTimeDecides(t *testing.T) {
	randtest.Seeds(t, 5000, func(t testing.TB, seed uint64) {
		p := randomRanked(rand.New(rand.NewPCG(seed, 22)), 8)
		if p.close() {
			return
		}
		for i := range p.in.N {
			for j := range p.in.N {
				r := p.Reaches(int32(i), int32(j))
				apart := p.isTime(int32(j), int32(i))
				if j < p.l[i] && r || j > p.r[i] && !r || apart && (r || j > i) {
					t.Fatalf("seed %d, %s: r(%d, %d) = %v", seed, p, i, j, r)
				}
			}
		}
	})
}

// changedPairs lists the pairs that the edge i→j makes reachable.
func changedPairs(p *ranked, i, j int) (pairs [][2]int) {
	for u := range p.in.N {
		for v := range p.in.N {
			if p.Reaches(int32(u), int32(i)) && p.Reaches(int32(j), int32(v)) && !p.Reaches(int32(u), int32(v)) {
				pairs = append(pairs, [2]int{u, v})
			}
		}
	}
	return pairs
}

// V23 and V24: where the rows and columns lie that an edge can change.
func TestV23V24CandidatesOfLemmas43And44(t *testing.T) {
	pairs, printed, halfRepaired, repaired44 := 0, 0, 0, 0
	randtest.Seeds(t, 5000, func(t testing.TB, seed uint64) {
		p := randomRanked(rand.New(rand.NewPCG(seed, 23)), 7)
		if p.close() {
			return
		}
		for i := range p.in.N {
			for j := range p.in.N {
				if p.Reaches(int32(i), int32(j)) || p.Reaches(int32(j), int32(i)) {
					continue
				}
				for _, c := range changedPairs(p, i, j) {
					pairs++
					u, v := c[0], c[1]
					if u < p.l[j] || u > min(p.r[i], p.r[j]) {
						t.Fatalf("seed %d, %s: %d → %d changes (%d, %d), outside corrected Lemma 4.3", seed, p, i, j, u,
							v)
					}
					must.Hold(t, v >= max(p.l[u], p.l[i], p.l[j]) && v <= min(p.r[u], p.r[i]),
						"seed %d, %s: %d → %d changes (%d, %d), outside Lemma 4.4", seed, p, i, j, u, v)
					if u < p.l[i] || u > p.r[i] {
						printed++
					}
					if u < p.l[i] || u > min(p.r[i], p.r[j]) {
						halfRepaired++
					}
					if v > min(p.r[u], p.r[j]) {
						repaired44++
					}
				}
			}
		}
	})
	t.Logf("%d pairs; missed by Lemma 4.3 as printed %d, with r_j alone %d, by Lemma 4.4 with r_j for r_i %d",
		pairs, printed, halfRepaired, repaired44)
	if randtest.Whole() && min(printed, halfRepaired, repaired44) == 0 {
		t.Error("a wrong lemma misses nothing: this test shows nothing")
	}
}

// V23's example: u = 0 lies before l_i.
func TestV23Example(t *testing.T) {
	in := Input{N: 3, Start: []int64{2, 3, 8}, End: []int64{4, 9, 9}}
	for _, k := range Kinds() {
		d, _, _ := New(k, in, Options{})
		must.Be(t, !d.Reaches(0, 1) && d.Reaches(0, 2), "%s: wrong before the edge", k)
		if changed, cycle := d.AddEdge(2, 1, 5); !changed || cycle || !d.Reaches(0, 1) {
			t.Errorf("%s: 2 → 1 must make 0 reach 1", k)
		}
		path, ok := d.Path(0, 1, nil)
		if want := []Step{{0, 2, Time, 0}, {2, 1, Added, 5}}; !ok || !slices.Equal(path, want) {
			t.Errorf("%s: path %v, want %v", k, path, want)
		}
	}
}

// figure3 has the four transactions of figures 3 and 4.
func figure3() Input {
	return Input{N: 4, Start: []int64{0, 2, 3, 6}, End: []int64{1, 9, 4, 8}}
}

// Figures 3 and 4: the layout, the update by the edge t1→t2, the path from t1 to t3.
func TestFigures3And4(t *testing.T) {
	p := rank(figure3())
	must.Be(t, slices.Equal(p.l, []int{0, 1, 1, 1}) && slices.Equal(p.r, []int{0, 3, 2, 3}), "l = %v, r = %v", p.l, p.r)
	for _, k := range Kinds() {
		d, _, _ := New(k, p.in, Options{})
		if changed, cycle := d.AddEdge(1, 2, 9); !changed || cycle {
			t.Fatalf("%s: %v, %v", k, changed, cycle)
		}
		must.Be(t, d.Reaches(1, 2) && d.Reaches(1, 3) && !d.Reaches(3, 1) && !d.Reaches(2, 1),
			"%s: wrong after t1 → t2", k)
		path, _ := d.Path(1, 3, nil)
		if want := []Step{{1, 2, Added, 9}, {2, 3, Time, 0}}; !slices.Equal(path, want) {
			t.Errorf("%s: path %v, want %v", k, path, want)
		}
		if _, cycle := d.AddEdge(3, 1, 1); !cycle {
			t.Errorf("%s: t3 → t1 closes a cycle", k)
		}
	}
}

// V25a: a pair reachable at level 0 need not be a time edge; its path names the known edges.
func TestV25LevelZeroPathsAreNotTimeEdges(t *testing.T) {
	in := Input{N: 3, Start: []int64{0, 1, 2}, End: []int64{9, 9, 9},
		Known: graph.Build(3, []graph.Edge{{From: 2, To: 1}, {From: 1, To: 0}})}
	for _, k := range Kinds() {
		d, _, _ := New(k, in, Options{})
		path, ok := d.Path(2, 0, nil)
		if want := []Step{{2, 1, Known, 0}, {1, 0, Known, 0}}; !ok || !slices.Equal(path, want) {
			t.Errorf("%s: path %v, want %v", k, path, want)
		}
	}
}

// V25b: undoing brings back exactly what was there.
func TestV25UndoRestores(t *testing.T) {
	for _, k := range Kinds() {
		d, _, _ := New(k, figure3(), Options{})
		d.AddEdge(1, 2, 0)
		mark := d.Mark()
		d.AddEdge(0, 1, 0)
		d.Undo(mark)
		must.Be(t, d.Reaches(1, 3), "%s: undid too much", k)
		d.Undo(0)
		must.Be(t, !d.Reaches(1, 2) && !d.Reaches(1, 3) && d.Reaches(2, 3), "%s: wrong after undoing everything", k)
		if changed, cycle := d.AddEdge(3, 1, 0); !changed || cycle || !d.Reaches(2, 1) {
			t.Errorf("%s: the opposite edge must be possible now", k)
		}
	}
}

// V25c: decomposition ends: a path over an edge that starts, or ends, where the path does.
func TestV25PathsBeginAndEndAtAddedEdges(t *testing.T) {
	in := Input{N: 4}
	for _, k := range Kinds() {
		d, _, _ := New(k, in, Options{})
		for i, e := range [][2]int32{{1, 2}, {0, 1}, {2, 3}} {
			d.AddEdge(e[0], e[1], int32(i))
		}
		path, ok := d.Path(0, 3, nil)
		if want := []Step{{0, 1, Added, 1}, {1, 2, Added, 0}, {2, 3, Added, 2}}; !ok || !slices.Equal(path, want) {
			t.Errorf("%s: path %v, want %v", k, path, want)
		}
		if path, ok := d.Path(2, 2, nil); !ok || len(path) != 0 {
			t.Errorf("%s: path from a node to itself: %v, %v", k, path, ok)
		}
		if path, ok := d.Path(3, 0, nil); ok {
			t.Errorf("%s: path against the order: %v", k, path)
		}
	}
}

// V9: windows that touch overlap; a window of no length is not before itself; skew widens.
func TestV9TimeEdgesAreStrict(t *testing.T) {
	for _, tc := range []struct {
		name       string
		start, end []int64
		skew       int64
		want       bool // 0 reaches 1
	}{
		{"touching", []int64{5, 6}, []int64{6, 7}, 0, false},
		{"apart", []int64{5, 7}, []int64{6, 7}, 0, true},
		{"apart by the skew", []int64{5, 8}, []int64{6, 9}, 2, false},
		{"apart by more", []int64{5, 9}, []int64{6, 9}, 2, true},
		{"same instant", []int64{5, 5}, []int64{5, 5}, 0, false},
		{"never ends", []int64{5, 9}, []int64{graph.NoEnd, 9}, 3, false},
		{"ends late, skew must not wrap", []int64{5, 9}, []int64{graph.NoEnd - 1, 9}, 3, false},
		{"unbounded start", []int64{graph.NoStart, graph.NoStart}, []int64{graph.NoStart, 9}, 0, false},
	} {
		for _, k := range Kinds() {
			d, cycle, err := New(k, Input{N: 2, Start: tc.start, End: tc.end, Skew: tc.skew}, Options{})
			must.Hold(t, err == nil && cycle == nil, "%s, %s: %v, %v", tc.name, k, cycle, err)
			if d.Reaches(0, 1) != tc.want || d.Reaches(1, 0) {
				t.Errorf("%s, %s: reach %v, %v; want %v, false", tc.name, k, d.Reaches(0, 1), d.Reaches(1, 0), tc.want)
			}
		}
	}
}

// V10: a cyclic known graph, alone or with real time, comes back as a cycle.
func TestV10CyclicInput(t *testing.T) {
	for name, tc := range map[string]struct {
		in   Input
		want []Step
	}{
		"known edges": {
			Input{N: 3, Known: graph.Build(3, []graph.Edge{{From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 1}})},
			[]Step{{1, 2, Known, 0}, {2, 1, Known, 0}},
		},
		"self-loop": {Input{N: 1, Known: graph.Build(1, []graph.Edge{{From: 0, To: 0}})}, []Step{{0, 0, Known, 0}}},
		"against real time": {
			Input{N: 2, Start: []int64{5, 0}, End: []int64{6, 1}, Known: graph.Build(2,
				[]graph.Edge{{From: 0, To: 1}})},
			[]Step{{0, 1, Known, 0}, {1, 0, Time, 0}},
		},
		"window turned round": {Input{N: 1, Start: []int64{5}, End: []int64{4}}, []Step{{0, 0, Time, 0}}},
	} {
		for _, k := range Kinds() {
			if d, cycle, err := New(k, tc.in, Options{}); d != nil || err != nil || !slices.Equal(cycle, tc.want) {
				t.Errorf("%s, %s: %v, %v, want %v", name, k, cycle, err, tc.want)
			}
		}
	}
}
