package acyclic

import (
	"math"
	"math/bits"
	"slices"

	"isovet/internal/graph"
	"isovet/solver"
)

// Window keeps guarded edges acyclic by reachability, and makes every literal false that has an edge which would close
// a cycle, like [Closure], but for many more guards: it notices an edge when it comes to close a cycle, and looks at no
// other.
//
// Nodes are numbered by rank, their place in a topological order of the known edges. All nodes that a node neither
// reaches nor is reached by are in its window, from the first such rank to the last; beyond it the known edges decide
// finally, and only the window has bits. Row u says what u reaches, column u what reaches u, and watch u from which
// nodes the edge of some guard leads to u.
//
// Invariant: rows and columns are those of known and present edges; each node reaches itself.
type Window struct {
	theory
	base   *graph.CSR
	most   int // words of rows
	stop   func() bool
	rank   []int32 // node → rank
	node   []int32 // rank → node
	lo, hi []int32 // rank → the words of its window
	at     []int32 // rank → where row word 0 would be
	row    []uint64
	col    []uint64
	watch  []uint64
	windowGuards

	edges   []windowEdge
	outHead []int32 // node → its newest edge
	windowUndo
	touched []bool // rank → row or column changed since Know began

	below, above []wordBits // scratch of add: what an edge makes reachable, and from where

	search windowSearch
}

// windowUndo is what undoing edges needs.
type windowUndo struct {
	trail  wordTrail
	savedR []uint32 // row word → the epoch in which the trail got it last
	savedC []uint32 // column word → the same
	epoch  uint32   // new with each level and each undo: a word is saved once in it
	keep   bool     // nothing need be saved: level 0
}

// windowGuards lists the guards by the ranks of their ends.
type windowGuards struct {
	byTo    []int32 // guards by target's rank, then by source's
	toOff   []int32 // rank → its part of byTo
	sources []int32 // of byTo: rank of the source
}

type windowEdge struct {
	from, to, tag int32
	nextOut       int32
	trail         int // length of the trail before it
}

// wordTrail is a stack in pieces, which do not move when it grows.
type wordTrail struct {
	pieces [][]windowWord
	n      int
}

const pieceBits = 13

func (t *wordTrail) push(at int32, old uint64) {
	p := t.n >> pieceBits
	if p == len(t.pieces) {
		t.pieces = append(t.pieces, make([]windowWord, 1<<pieceBits))
	}
	t.pieces[p][t.n&(1<<pieceBits-1)] = windowWord{at, old}
	t.n++
}

func (t *wordTrail) pop() windowWord {
	t.n--
	return t.pieces[t.n>>pieceBits][t.n&(1<<pieceBits-1)]
}

// wordBits are some ranks of one word.
type wordBits struct {
	word int32
	bits uint64
}

// windowWord is a word to be restored on undo: of a row, or, if its index is complemented, of a column.
type windowWord struct {
	at  int32
	old uint64
}

// MaxWindowWords bounds the words of a [Window]'s rows: 64 MB, and as much each for columns and watches.
const MaxWindowWords = 1 << 23

// NewWindow makes the closure of known edges, which must not change afterwards, with a topological order of them.
// [Window.Attach] adds the guards. It returns nil if the windows would be too wide: more than so many words, up to
// 2^31−1, in all.
//
// Cost: the edges times the words of their windows.
func NewWindow(base *graph.CSR, order []int32, words int) *Window {
	n := int32(base.N())
	t := &Window{base: base, node: order, most: min(words, math.MaxInt32)}
	down, up, ok := t.halves()
	if !ok {
		return nil
	}
	t.lo, t.hi, t.at = up.lo, down.hi, make([]int32, n)
	total := 0
	for r := range n {
		t.at[r] = int32(total) - t.lo[r]
		if total += int(t.hi[r] - t.lo[r]); total > t.most {
			return nil
		}
	}
	t.row, t.col, t.watch = make([]uint64, total), make([]uint64, total), make([]uint64, total)
	for r := range n {
		copy(t.row[t.at[r]+down.lo[r]:], down.rows[r])
		copy(t.col[t.at[r]+up.lo[r]:], up.rows[r])
	}
	t.savedR, t.savedC = make([]uint32, total), make([]uint32, total)
	t.nextEpoch()
	t.outHead = slices.Repeat([]int32{-1}, int(n))
	t.touched = make([]bool, n)
	t.search.seen = make([]uint32, n)
	t.search.dist = make([]int32, n)
	t.search.via = make([]windowStep, n)
	return t
}

// halves numbers the nodes by rank and computes what each reaches and what reaches it.
func (t *Window) halves() (down, up *halfRows, ok bool) {
	t.rank = make([]int32, t.base.N())
	for r, v := range t.node {
		t.rank[v] = int32(r)
	}
	if down, ok = t.descendants(); ok {
		up, ok = t.ancestors(t.base.Reverse())
	}
	return down, up, ok
}

// Order returns the nodes by rank. The slice must not be changed.
func (t *Window) Order() []int32 { return t.node }

// Middle returns how many nodes surely come before v minus how many surely come after it: twice its place, as a guess.
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

// Span returns two ranks between which all nodes are that neither reach v nor are reached by it.
func (t *Window) Span(v int32) (from, to int32) {
	r := t.rank[v]
	return t.lo[r] << 6, t.hi[r] << 6
}

// Reaches reports whether u reaches v by known edges and edges of literals told to be true.
func (t *Window) Reaches(u, v int32) bool { return t.reaches(t.rank[u], t.rank[v]) }

func (t *Window) reaches(r, s int32) bool {
	w := s >> 6
	if w < t.lo[r] {
		return false
	}
	return w >= t.hi[r] || t.row[t.at[r]+w]>>(s&63)&1 != 0
}

// Attach makes this the theory of the guards for s. It can be called once. It returns what [Window.Add] returns.
func (t *Window) Attach(s *solver.Solver, guards []Guard) (conflict []solver.Lit) {
	t.init(s, windowGraph{t})
	t.keep = true
	s.SetTheory(t)
	return t.Add(guards...)
}

// Add adds guards, between calls of Solve. Their variables must exist. It returns nil or, if facts of level 0 already
// close a cycle with them, a clause that says so, which the caller must add to the solver.
//
// Cost: linear in all guards, new and old, and sorting those of each target.
func (t *Window) Add(guards ...Guard) (conflict []solver.Lit) {
	first := len(t.guards)
	for _, e := range guards {
		t.guard(e)
	}
	n := int32(len(t.node))
	by := graph.NewGroups[int32](int(n))
	for _, e := range t.guards {
		by.Count(t.rank[e.To])
	}
	t.byTo = make([]int32, by.Sum())
	t.sources = make([]int32, len(t.guards))
	for i, e := range t.guards {
		t.byTo[by.Place(t.rank[e.To])] = int32(i)
	}
	t.toOff = by.Off()
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

// Know adds a known edge, before [Window.Attach]. If the edge would close a cycle, it returns true and adds nothing.
func (t *Window) Know(u, v int32) (cycle bool) {
	t.keep = true
	return windowGraph{t}.add(u, v, -1)
}

// Touched reports whether [Window.Know] changed what v reaches or is reached by since the last [Window.Rest].
func (t *Window) Touched(v int32) bool { return t.touched[t.rank[v]] }

// Rest clears what Touched reports.
func (t *Window) Rest() { clear(t.touched) }

// Propagate returns the negations of the literals that would now close a cycle. See solver.Theory.
func (t *Window) Propagate() []solver.Lit {
	out := t.out
	t.out = t.out[:0]
	return out
}

// NewLevel begins a level. See solver.Theory.
func (t *Window) NewLevel() {
	t.keep = false
	t.nextEpoch()
	t.theory.NewLevel()
}

func (t *Window) nextEpoch() {
	if t.epoch++; t.epoch == 0 {
		clear(t.savedR)
		clear(t.savedC)
		t.epoch = 1
	}
}

// Lemma reports whether a clause follows from the guards and the known edges. It must be called at level 0.
func (t *Window) Lemma(c []solver.Lit) bool {
	t.keep = false
	t.nextEpoch()
	defer func() { t.keep = true }()
	return t.theory.Lemma(c)
}

// Backtrack undoes levels. See solver.Theory.
func (t *Window) Backtrack(level int) {
	t.out = t.out[:0]
	t.theory.Backtrack(level)
	t.keep = level == 0
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
	for t.trail.n > to {
		if x := t.trail.pop(); x.at >= 0 {
			t.row[x.at] = x.old
		} else {
			t.col[^x.at] = x.old
		}
	}
	t.edges = t.edges[:m]
	t.nextEpoch()
}

// add adds u→v. Cost: the words of the rows and columns that change.
func (g windowGraph) add(u, v, tag int32) (cycle bool) {
	t := g.t
	a, b := t.rank[u], t.rank[v]
	if t.reaches(b, a) {
		return true
	}
	t.edges = append(t.edges, windowEdge{u, v, tag, t.outHead[u], t.trail.n})
	t.outHead[u] = int32(len(t.edges) - 1)
	if t.reaches(a, b) {
		return false
	}
	// What reaches a reaches all that a does, so only what b reaches and a did not is new to it; likewise backward.
	la, ha, lb, hb := t.lo[a], t.hi[a], t.lo[b], t.hi[b]
	below := t.below[:0]
	for w := max(la, lb); w < ha; w++ {
		x := ^t.row[t.at[a]+w]
		if w < hb {
			x &= t.row[t.at[b]+w]
		}
		if x != 0 {
			below = append(below, wordBits{w, x})
		}
	}
	above := t.above[:0]
	for w := lb; w < min(hb, ha); w++ {
		x := ^t.col[t.at[b]+w]
		if w >= la {
			x &= t.col[t.at[a]+w]
		}
		if x != 0 {
			above = append(above, wordBits{w, x})
		}
	}
	t.below, t.above = below, above
	for _, c := range above {
		for x := c.bits; x != 0; x &= x - 1 {
			t.grow(c.word<<6 | int32(bits.TrailingZeros64(x)))
		}
	}
	for _, c := range below {
		for x := c.bits; x != 0; x &= x - 1 {
			r := c.word<<6 | int32(bits.TrailingZeros64(x))
			if int(r) >= len(t.node) {
				break
			}
			base, lo := t.at[r], t.lo[r]
			t.touched[r] = true
			for _, d := range above {
				if d.word < lo {
					continue
				}
				old := t.col[base+d.word]
				if now := old | d.bits; now != old {
					if !t.keep && t.savedC[base+d.word] != t.epoch {
						t.savedC[base+d.word] = t.epoch
						t.trail.push(^(base + d.word), old)
					}
					t.col[base+d.word] = now
				}
			}
		}
	}
	return false
}

// grow adds the new bits to the row of r, and records the guards that would now close a cycle.
func (t *Window) grow(r int32) {
	base, hi := t.at[r], t.hi[r]
	t.touched[r] = true
	for _, c := range t.below {
		if c.word >= hi {
			break
		}
		old := t.row[base+c.word]
		now := old | c.bits
		if now == old {
			continue
		}
		if !t.keep && t.savedR[base+c.word] != t.epoch {
			t.savedR[base+c.word] = t.epoch
			t.trail.push(base+c.word, old)
		}
		t.row[base+c.word] = now
		for x := (now &^ old) & t.watch[base+c.word]; x != 0; x &= x - 1 {
			s := c.word<<6 | int32(bits.TrailingZeros64(x))
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

// path is a 0-1 breadth-first search limited to what reaches v.
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
