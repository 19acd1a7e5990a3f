package acyclic

import (
	"fmt"
	"math/bits"
	"slices"

	"isovet/graph"
	"isovet/solver"
)

// Window keeps guarded edges acyclic by reachability, and decides every literal one of whose edges would close a cycle, like
// [Closure], for many more guards: it hears of an edge that would close a cycle when that becomes so, and looks at no other.
//
// Nodes are known by rank, their place in a topological order of the known edges. What a node neither reaches nor is reached by
// lies in its window, the ranks from the first such to the last; beyond it all is settled for good, and only the window has bits.
// Row u says what u reaches, column u what reaches u, and watch u of which nodes some guard would lead back to u.
//
// Invariant: rows and columns are those of known and present edges, each node reaching itself.
type Window struct {
	theory
	base   *graph.CSR
	rank   []int32 // node → rank
	node   []int32 // rank → node
	lo, hi []int32 // rank → the words of its window
	at     []int32 // rank → where row word 0 would be
	row    []uint64
	col    []uint64
	watch  []uint64

	byTo    []int32 // guards by target's rank, then by source's
	toOff   []int32 // rank → its part of byTo
	sources []int32 // of byTo: rank of the source

	edges   []windowEdge
	outHead []int32 // node → its newest edge
	trail   []windowWord
	fresh   []uint64 // scratch: the ranks that an edge makes reachable

	search windowSearch
}

type windowEdge struct {
	from, to, tag int32
	nextOut       int32
	trail         int // length of the trail before it
}

// windowWord is a word to be restored: of a row, or, complemented, of a column.
type windowWord struct {
	at  int32
	old uint64
}

// maxWindowWords bounds the words of the rows of a [Window].
const maxWindowWords = 1 << 23

// NewWindow makes the closure of known edges, which must not change afterwards; order is a topological order of them. Guards come
// by [Window.Attach]. It returns nil if the windows are too wide: more than 2^23 words (64 MB, three times) in all.
//
// Cost: the edges times the words of their windows.
func NewWindow(base *graph.CSR, order []int32) *Window {
	n := int32(base.N())
	t := &Window{base: base, node: order, rank: make([]int32, n)}
	for r, v := range order {
		t.rank[v] = int32(r)
	}
	down, ok := t.descendants()
	if !ok {
		return nil
	}
	up, ok := t.ancestors(base.Reverse())
	if !ok {
		return nil
	}
	t.lo, t.hi, t.at = up.lo, down.hi, make([]int32, n)
	total := int32(0)
	for r := range n {
		t.at[r] = total - t.lo[r]
		if total += t.hi[r] - t.lo[r]; total > maxWindowWords {
			return nil
		}
	}
	t.row, t.col, t.watch = make([]uint64, total), make([]uint64, total), make([]uint64, total)
	for r := range n {
		copy(t.row[t.at[r]+down.lo[r]:], down.part(r))
		copy(t.col[t.at[r]+up.lo[r]:], up.part(r))
	}
	t.fresh = make([]uint64, (n+63)/64)
	t.outHead = make([]int32, n)
	for v := range t.outHead {
		t.outHead[v] = -1
	}
	t.search.seen = make([]uint32, n)
	t.search.dist = make([]int32, n)
	t.search.via = make([]windowStep, n)
	return t
}

// halfRows are rows of bits for the words [lo, hi) of ranks.
type halfRows struct {
	bits   []uint64
	off    []int
	lo, hi []int32
}

func newHalfRows(n int) *halfRows {
	return &halfRows{off: make([]int, n), lo: make([]int32, n), hi: make([]int32, n)}
}

func (h *halfRows) part(r int32) []uint64 { return h.bits[h.off[r]:][:h.hi[r]-h.lo[r]] }

// open begins row r with its own bit, for the words [lo, hi).
func (h *halfRows) open(r, lo, hi int32) (row []uint64, ok bool) {
	h.off[r], h.lo[r], h.hi[r] = len(h.bits), lo, hi
	if len(h.bits)+int(hi-lo) > maxWindowWords {
		return nil, false
	}
	h.bits = append(h.bits, make([]uint64, hi-lo)...)
	row = h.bits[h.off[r]:]
	row[r>>6-lo] |= 1 << (r & 63)
	return row, true
}

// descendants computes what each rank reaches, up to the word from which on it reaches all.
func (t *Window) descendants() (h *halfRows, ok bool) {
	n := int32(len(t.node))
	h = newHalfRows(int(n))
	words := (n + 63) / 64
	for r := n - 1; r >= 0; r-- {
		lo, hi := r>>6, words
		next := t.base.Succ(t.node[r])
		for _, v := range next {
			hi = min(hi, h.hi[t.rank[v]])
		}
		row, ok := h.open(r, lo, hi)
		if !ok {
			return nil, false
		}
		for _, v := range next {
			s := t.rank[v]
			from := h.lo[s]
			for w, x := range h.part(s)[:max(0, hi-from)] {
				row[from-lo+int32(w)] |= x
			}
		}
		for hi > lo+1 && (row[hi-1-lo] == ^uint64(0) || hi == words && n&63 != 0 && row[hi-1-lo] == 1<<(n&63)-1) {
			hi--
		}
		h.hi[r] = hi
		h.bits = h.bits[:h.off[r]+int(hi-lo)]
	}
	return h, true
}

// ancestors computes what reaches each rank, down to the word below which all do.
func (t *Window) ancestors(back *graph.CSR) (h *halfRows, ok bool) {
	n := int32(len(t.node))
	h = newHalfRows(int(n))
	for r := range n {
		lo, hi := int32(0), r>>6+1
		next := back.Succ(t.node[r])
		for _, v := range next {
			lo = max(lo, h.lo[t.rank[v]])
		}
		row, ok := h.open(r, lo, hi)
		if !ok {
			return nil, false
		}
		for _, v := range next {
			s := t.rank[v]
			from := h.lo[s]
			if lo >= h.hi[s] {
				continue
			}
			for w, x := range h.part(s)[lo-from:] {
				row[w] |= x
			}
		}
		full := int32(0)
		for lo+full < r>>6 && row[full] == ^uint64(0) {
			full++
		}
		copy(row, row[full:])
		h.lo[r] = lo + full
		h.bits = h.bits[:h.off[r]+int(hi-lo-full)]
	}
	return h, true
}

// Order lists the nodes by rank. The slice must not be changed.
func (t *Window) Order() []int32 { return t.node }

// Middle returns how many nodes surely come before v less how many surely come after it: a guess of its place, twice as fine.
func (t *Window) Middle(v int32) int64 {
	r := t.rank[v]
	before, after := int64(t.lo[r])<<6, max(0, int64(len(t.node))-int64(t.hi[r])<<6)
	for w := t.lo[r]; w < t.hi[r]; w++ {
		before += int64(bits.OnesCount64(t.col[t.at[r]+w]))
		after += int64(bits.OnesCount64(t.row[t.at[r]+w]))
	}
	return before - after
}

// Rank returns the place of v in the topological order.
func (t *Window) Rank(v int32) int32 { return t.rank[v] }

// Span returns the ranks between which lie all nodes that neither reach v nor are reached by it.
func (t *Window) Span(v int32) (from, to int32) {
	r := t.rank[v]
	return t.lo[r] << 6, t.hi[r] << 6
}

// Reaches reports whether u reaches v, by known edges and those of literals told.
func (t *Window) Reaches(u, v int32) bool { return t.reaches(t.rank[u], t.rank[v]) }

func (t *Window) reaches(r, s int32) bool {
	w := s >> 6
	if w < t.lo[r] {
		return false
	}
	if w >= t.hi[r] {
		return true
	}
	return t.row[t.at[r]+w]>>(s&63)&1 != 0
}

// Attach makes the theory of the guards for s. It can be done once. The answer is that of [Window.Add].
func (t *Window) Attach(s *solver.Solver, guards []Guard) (conflict []solver.Lit) {
	t.init(s, windowGraph{t})
	s.SetTheory(t)
	return t.Add(guards...)
}

// Add adds guards, between calls of Solve. Their variables must exist. It returns nil, or, if facts of level 0 already close a
// cycle with them, a clause that says so, which the caller must add to the solver.
//
// Cost: linear in all guards, new and old, and sorting those of each target.
func (t *Window) Add(guards ...Guard) (conflict []solver.Lit) {
	first := len(t.guards)
	for _, e := range guards {
		t.guard(e)
	}
	n := int32(len(t.node))
	t.toOff = make([]int32, n+1)
	for _, e := range t.guards {
		t.toOff[t.rank[e.To]+1]++
	}
	for r := range n {
		t.toOff[r+1] += t.toOff[r]
	}
	t.byTo = make([]int32, len(t.guards))
	t.sources = make([]int32, len(t.guards))
	next := slices.Clone(t.toOff[:n])
	for i, e := range t.guards {
		r := t.rank[e.To]
		t.byTo[next[r]] = int32(i)
		next[r]++
	}
	for r := range n {
		from, to := t.toOff[r], t.toOff[r+1]
		part := t.byTo[from:to]
		slices.SortFunc(part, func(i, j int32) int { return int(t.rank[t.guards[i].From] - t.rank[t.guards[j].From]) })
		for k, i := range part {
			s := t.rank[t.guards[i].From]
			t.sources[int(from)+k] = s
			if w := s >> 6; w >= t.lo[r] && w < t.hi[r] {
				t.watch[t.at[r]+w] |= 1 << (s & 63)
			}
			if int(i) >= first && t.reaches(r, s) {
				t.propagate(i)
			}
		}
	}
	return t.settle(first)
}

// Propagate returns the negations of the literals that became impossible. See solver.Theory.
func (t *Window) Propagate() []solver.Lit {
	out := t.out
	t.out = t.out[:0]
	return out
}

// Backtrack closes levels. See solver.Theory.
func (t *Window) Backtrack(level int) {
	t.out = t.out[:0]
	t.theory.Backtrack(level)
}

type windowGraph struct{ t *Window }

func (g windowGraph) mark() int { return len(g.t.edges) }

func (g windowGraph) undo(m int) {
	t := g.t
	if m == len(t.edges) {
		return
	}
	for i := len(t.edges) - 1; i >= m; i-- {
		t.outHead[t.edges[i].from] = t.edges[i].nextOut
	}
	to := t.edges[m].trail
	for i := len(t.trail) - 1; i >= to; i-- {
		if x := t.trail[i]; x.at >= 0 {
			t.row[x.at] = x.old
		} else {
			t.col[^x.at] = x.old
		}
	}
	t.trail = t.trail[:to]
	t.edges = t.edges[:m]
}

// add adds u→v. Cost: the words of the rows and columns that change.
func (g windowGraph) add(u, v, tag int32) (cycle bool) {
	t := g.t
	a, b := t.rank[u], t.rank[v]
	if t.reaches(b, a) {
		return true
	}
	t.edges = append(t.edges, windowEdge{u, v, tag, t.outHead[u], len(t.trail)})
	t.outHead[u] = int32(len(t.edges) - 1)
	if t.reaches(a, b) {
		return false
	}
	// What b reaches and a did not, in a's window.
	fresh := t.fresh
	la, ha, lb, hb := t.lo[a], t.hi[a], t.lo[b], t.hi[b]
	for w := max(la, lb); w < ha; w++ {
		x := ^uint64(0)
		if w < hb {
			x = t.row[t.at[b]+w]
		}
		fresh[w] = x &^ t.row[t.at[a]+w]
	}
	// Rows of what reaches a and not b.
	for w := lb; w < min(hb, ha); w++ {
		x := ^t.col[t.at[b]+w]
		if w >= la {
			x &= t.col[t.at[a]+w]
		}
		for ; x != 0; x &= x - 1 {
			t.grow(w<<6|int32(bits.TrailingZeros64(x)), b)
		}
	}
	// Columns of what b reaches and a did not.
	for w := max(la, lb); w < ha; w++ {
		for x := fresh[w]; x != 0; x &= x - 1 {
			r := w<<6 | int32(bits.TrailingZeros64(x))
			if int(r) >= len(t.node) {
				break
			}
			base := t.at[r]
			for w := t.lo[r]; w < min(t.hi[r], ha); w++ {
				old := t.col[base+w]
				now := ^uint64(0)
				if w >= la {
					now = old | t.col[t.at[a]+w]
				}
				if now != old {
					t.trail = append(t.trail, windowWord{^(base + w), old})
					t.col[base+w] = now
				}
			}
		}
	}
	return false
}

// grow merges row b into row r and notes the guards that now would close a cycle.
func (t *Window) grow(r, b int32) {
	base, from := t.at[r], t.at[b]
	hb := t.hi[b]
	for w := max(t.lo[r], t.lo[b]); w < t.hi[r]; w++ {
		old := t.row[base+w]
		now := ^uint64(0)
		if w < hb {
			now = old | t.row[from+w]
		}
		if now == old {
			continue
		}
		t.trail = append(t.trail, windowWord{base + w, old})
		t.row[base+w] = now
		for x := (now &^ old) & t.watch[base+w]; x != 0; x &= x - 1 {
			s := w<<6 | int32(bits.TrailingZeros64(x))
			part := t.sources[t.toOff[r]:t.toOff[r+1]]
			k, _ := slices.BinarySearch(part, s)
			for ; k < len(part) && part[k] == s; k++ {
				t.propagate(t.byTo[int(t.toOff[r])+k])
			}
		}
	}
}

type windowStep struct{ from, tag int32 }

type windowSearch struct {
	seen       []uint32
	epoch      uint32
	dist       []int32
	via        []windowStep
	now, later []int32
}

// path is a 0-1 breadth-first search among what reaches v.
func (g windowGraph) path(u, v int32, cost func(int32) int8, tags []int32) []int32 {
	t := g.t
	s := &t.search
	s.epoch++
	if s.epoch == 0 {
		clear(s.seen)
		s.epoch = 1
	}
	goal := t.rank[v]
	s.seen[u], s.dist[u] = s.epoch, 0
	now, later := append(s.now[:0], u), s.later[:0]
	defer func() { s.now, s.later = now, later }()
	for level := int32(0); len(now) > 0; level++ {
		for head := 0; head < len(now); head++ {
			x := now[head]
			if s.dist[x] != level {
				continue
			}
			if x == v {
				for x != u {
					if s.via[x].tag >= 0 {
						tags = append(tags, s.via[x].tag)
					}
					x = s.via[x].from
				}
				slices.Reverse(tags)
				return tags
			}
			for _, y := range t.base.Succ(x) {
				if (s.seen[y] != s.epoch || s.dist[y] > level) && t.reaches(t.rank[y], goal) {
					s.seen[y], s.dist[y], s.via[y] = s.epoch, level, windowStep{x, -1}
					now = append(now, y)
				}
			}
			for i := t.outHead[x]; i >= 0; i = t.edges[i].nextOut {
				e := &t.edges[i]
				y := e.to
				if s.seen[y] == s.epoch && s.dist[y] <= level || !t.reaches(t.rank[y], goal) {
					continue
				}
				if cost(e.tag) == 0 {
					s.seen[y], s.dist[y], s.via[y] = s.epoch, level, windowStep{x, e.tag}
					now = append(now, y)
				} else if s.seen[y] != s.epoch {
					s.seen[y], s.dist[y], s.via[y] = s.epoch, level+1, windowStep{x, e.tag}
					later = append(later, y)
				}
			}
		}
		now, later = later, now[:0]
	}
	panic("acyclic: no path where the closure found a cycle")
}

// check compares rows and columns with a closure made anew.
func (g windowGraph) check() error {
	t := g.t
	n := len(t.node)
	var edges []graph.Edge
	for u := range int32(n) {
		for _, v := range t.base.Succ(u) {
			edges = append(edges, graph.Edge{From: u, To: v})
		}
	}
	for _, e := range t.edges {
		edges = append(edges, graph.Edge{From: e.from, To: e.to})
	}
	c := graph.Build(n, edges)
	topo, ok := graph.Topological(c)
	if !ok {
		return fmt.Errorf("acyclic: the graph has a cycle")
	}
	words := (n + 63) / 64
	full := make([]uint64, n*words)
	for _, u := range slices.Backward(topo) {
		to := full[int(u)*words:][:words]
		to[u>>6] |= 1 << (u & 63)
		for _, v := range c.Succ(u) {
			for w, x := range full[int(v)*words:][:words] {
				to[w] |= x
			}
		}
	}
	for u := range int32(n) {
		for v := range int32(n) {
			want := full[int(u)*words+int(v>>6)]>>(v&63)&1 != 0
			if t.Reaches(u, v) != want {
				return fmt.Errorf("acyclic: %d reaches %d: %v, expected %v", u, v, !want, want)
			}
			r, s := t.rank[u], t.rank[v]
			if w := r >> 6; w >= t.lo[s] && w < t.hi[s] && t.col[t.at[s]+w]>>(r&63)&1 != 0 != want {
				return fmt.Errorf("acyclic: %d is reached by %d: %v, expected %v", v, u, !want, want)
			}
		}
	}
	return nil
}
