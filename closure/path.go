package closure

import (
	"slices"

	"isovet/internal/graph"
)

// pathFinder finds the paths that explain reachability. It stores only edges; the closure limits the search to nodes
// between the two ends.
type pathFinder struct {
	p        *problem
	list     *edgeList
	back     *graph.CSR // known edges reversed, made by the first search
	fwd, bwd side
	steps    []Step
}

// side is the working memory of the search in one direction.
type side struct {
	seen       []uint32
	epoch      uint32
	dist       []int32
	via        []int32 // the edge by which a node was reached: ≥ 0 an added edge, else −1 − the node before it
	now, later []int32
	best       []int32 // by cost: of the nodes reached at no more than it, the one that ends first (starts last)
}

func (s *side) begin(n int, root int32) {
	if len(s.seen) < n {
		s.seen, s.dist, s.via = make([]uint32, n), make([]int32, n), make([]int32, n)
		s.epoch = 0
	}
	s.epoch++
	if s.epoch == 0 {
		clear(s.seen)
		s.epoch = 1
	}
	s.seen[root], s.dist[root] = s.epoch, 0
	s.now, s.later, s.best = append(s.now[:0], root), s.later[:0], s.best[:0]
}

// meet records that x can be reached by an edge of cost c from a node of cost level.
func (s *side) meet(x, via, level int32, c int8) {
	if s.seen[x] == s.epoch && s.dist[x] <= level+int32(c) {
		return
	}
	s.seen[x], s.dist[x], s.via[x] = s.epoch, level+int32(c), via
	if c == 0 {
		s.now = append(s.now, x)
	} else {
		s.later = append(s.later, x)
	}
}

// find returns a cheapest path from u to v.
//
// A path needs at most one time edge (graph.TimeBounds). So it is a path of edges, or a path of edges to some a, a time
// edge a→b, and a path of edges to v. The forward search, by cost, finds the first kind and, for each cost, the a that
// ends earliest; the backward search finds the b that starts latest.
//
// Source: in place of the matrix P of Vbox §4.4: an absent entry there need not be a time edge (errata V25), and P
// takes 32 or 64 times the memory of R.
// Cost:   O(edges among the nodes between u and v).
func (f *pathFinder) find(idx Index, u, v int32, cost func(tag int32) int8) ([]Step, bool) {
	f.steps = f.steps[:0]
	if u == v {
		return f.steps, true
	}
	if !idx.Reaches(u, v) {
		return nil, false
	}
	if f.p.before(u, v) {
		f.steps = append(f.steps, Step{From: u, To: v, Kind: Time})
		return f.steps, true
	}
	if f.back == nil {
		f.back = f.p.known.Reverse()
	}
	const far = 1 << 30
	// last is where the forward part ends, first where the backward part begins.
	best, last, first := int32(far), v, int32(none)
	if d := f.forward(idx, u, v, cost); d >= 0 {
		best = d
	}
	// Search backward as long as that can make the path cheaper.
	s := &f.bwd
	s.begin(f.p.n, v)
	for level := int32(0); len(s.now) > 0 && level < best; level++ {
		top := int32(none)
		if level > 0 {
			top = s.best[level-1]
		}
		for head := 0; head < len(s.now); head++ {
			y := s.now[head]
			if s.dist[y] != level {
				continue
			}
			if top == none || f.p.start[y] > f.p.start[top] {
				top = y
			}
			for _, x := range f.back.Succ(y) {
				if idx.Reaches(u, x) {
					s.meet(x, -1-y, level, 0)
				}
			}
			if f.list.inHead == nil {
				continue
			}
			for i := f.list.inHead[y]; i != none; i = f.list.edges[i].nextIn {
				if e := &f.list.edges[i]; idx.Reaches(u, e.from) {
					s.meet(e.from, i, level, weigh(cost, e.tag))
				}
			}
		}
		s.best = append(s.best, top)
		for d, a := range f.fwd.best {
			if int32(d)+level >= best {
				break
			}
			if f.p.before(a, top) {
				best, last, first = int32(d)+level, a, top
				break
			}
		}
		s.now, s.later = s.later, s.now[:0]
	}
	if best == far {
		panic("closure: no path between nodes said to reach each other")
	}
	f.unwind(u, last)
	if first != none {
		f.steps = append(f.steps, Step{From: last, To: first, Kind: Time})
		for x := first; x != v; {
			var step Step
			if via := f.bwd.via[x]; via >= 0 {
				e := &f.list.edges[via]
				step = Step{x, e.to, Added, e.tag}
			} else {
				step = Step{From: x, To: -1 - via, Kind: Known}
			}
			f.steps = append(f.steps, step)
			x = step.To
		}
	}
	return f.steps, true
}

func weigh(cost func(tag int32) int8, tag int32) int8 {
	if cost != nil && cost(tag) == 0 {
		return 0
	}
	return 1
}

// forward searches from u, among what reaches v, and returns the cost of v by edges alone, or −1. It stops at a node
// from which a time edge leads to v, for nothing beyond can be cheaper.
func (f *pathFinder) forward(idx Index, u, v int32, cost func(tag int32) int8) int32 {
	s := &f.fwd
	s.begin(f.p.n, u)
	for level := int32(0); len(s.now) > 0; level++ {
		top := int32(none)
		if level > 0 {
			top = s.best[level-1]
		}
		found := false
		for head := 0; head < len(s.now) && !found; head++ {
			x := s.now[head]
			if s.dist[x] != level {
				continue // reached more cheaply after it was queued
			}
			if x == v {
				found = true
				break
			}
			if top == none || f.p.due[x] < f.p.due[top] {
				top = x
			}
			if f.p.before(x, v) {
				break // no path of edges is cheaper, and no a at this cost needs to end earlier
			}
			for _, y := range f.p.known.Succ(x) {
				if idx.Reaches(y, v) {
					s.meet(y, -1-x, level, 0)
				}
			}
			if f.list.outHead == nil {
				continue
			}
			for i := f.list.outHead[x]; i != none; i = f.list.edges[i].nextOut {
				if e := &f.list.edges[i]; idx.Reaches(e.to, v) {
					s.meet(e.to, i, level, weigh(cost, e.tag))
				}
			}
		}
		s.best = append(s.best, top)
		if found {
			return level
		}
		if f.p.before(top, v) {
			return -1
		}
		s.now, s.later = s.later, s.now[:0]
	}
	return -1
}

// unwind appends the forward steps from u to x.
func (f *pathFinder) unwind(u, x int32) {
	for x != u {
		var step Step
		if via := f.fwd.via[x]; via >= 0 {
			e := &f.list.edges[via]
			step = Step{e.from, x, Added, e.tag}
		} else {
			step = Step{From: -1 - via, To: x, Kind: Known}
		}
		f.steps = append(f.steps, step)
		x = step.From
	}
	slices.Reverse(f.steps)
}
