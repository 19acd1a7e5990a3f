package census

import (
	"cmp"
	"context"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
)

// These bound the search by its work, so that a history has the same counts on every machine. In each component it
// looks for a cycle of a class through mostEdges edges. In all it walks over someSteps edges, and mostTimes those of
// the graph.
const (
	mostEdges = 32
	mostTimes = 16
)

var someSteps = 1 << 22 // tests change it

// class is a kind of cycle: it has an edge first, and a path back with the dependencies in back.
type class struct {
	first evidence.Dep
	back  []evidence.Dep
	mode  uint8
}

const (
	anyWay    uint8 = iota // whatever the way back
	anotherRW              // with an anti-dependency on it
	apartRW                // with several anti-dependencies, no two of them adjacent
)

// classes are Adya's classes, and Elle's with several anti-dependencies. Snapshot isolation allows the last one.
var classes = [...]class{
	{evidence.WW, []evidence.Dep{evidence.WW}, anyWay},                              // G0
	{evidence.WR, []evidence.Dep{evidence.WW, evidence.WR}, anyWay},                 // G1c
	{evidence.RW, []evidence.Dep{evidence.WW, evidence.WR}, anyWay},                 // G-single
	{evidence.RW, []evidence.Dep{evidence.WW, evidence.WR, evidence.RW}, apartRW},   // G-nonadjacent
	{evidence.RW, []evidence.Dep{evidence.WW, evidence.WR, evidence.RW}, anotherRW}, // G2-item
}

// forks adds the lost updates to found: for each version that several transactions read and overwrote, the first two of
// these. It leaves room for more.
func (g *dependencies) forks(found []evidence.Anomaly, more int) []evidence.Anomaly {
	h := g.h
	var forked []uint32
	for ver := range uint32(h.NumVersions()) {
		if len(g.overwriters(ver)) > 1 {
			forked = append(forked, ver)
		}
	}
	found = slices.Grow(found, len(forked)+more)
	edges, pairs := make([]edge, 0, 4*len(forked)), make([][]edge, 0, 2*len(forked))
	for i, ver := range forked {
		by := g.overwriters(ver)
		a, b, k := by[0], by[1], h.VerKey[ver]
		writer := g.w[ver]
		if writer == h.Init || writer >= many {
			writer = none
		}
		ww := func(t, u uint32) evidence.Edge {
			return evidence.Edge{From: t, To: u, Dep: evidence.WW, Key: k, Ver: g.versionOf(u, k), Writer: none}
		}
		rw := func(t, u uint32) evidence.Edge {
			return evidence.Edge{From: t, To: u, Dep: evidence.RW, Key: k, Ver: ver, Writer: writer}
		}
		edges = append(edges, ww(a, b), rw(b, a), ww(b, a), rw(a, b))
		e := edges[4*i:]
		pairs = append(pairs, e[:2:2], e[2:4:4])
		cycles := pairs[2*i : 2*i+2 : 2*i+2]
		if writer != none && (g.readFrom(writer, a) || g.readFrom(writer, b)) {
			cycles = append(cycles, g.reasons(e)...) // reads show both orders, and so settle none: see certify
		}
		found = append(found, evidence.Anomaly{Cycles: cycles})
	}
	return found
}

// readFrom reports whether one of the first operations of t, so many that the time is bounded, reads from u.
func (g *dependencies) readFrom(t, u uint32) bool {
	ops, lo := &g.h.Ops, g.h.Txns.OpOff[t]
	for op := lo; op < min(g.h.Txns.OpOff[t+1], lo+mostReaders); op++ {
		if ops.Kind[op] == history.Read && g.w[ops.Ver[op]] == u {
			return true
		}
	}
	return false
}

// reasons returns the cycles that justify the version orders which edges assume and no list shows: a transaction that
// overwrote the version which it had read comes after that version's writer.
func (g *dependencies) reasons(edges []evidence.Edge) (out [][]evidence.Edge) {
	done := map[[3]uint32]bool{}
	for _, e := range edges {
		from := e.From
		if e.Dep == evidence.RW {
			from = e.Writer
		}
		pair := [3]uint32{e.Key, from, e.To}
		if from >= many || from == g.h.Init || e.Dep != evidence.WW && e.Dep != evidence.RW || done[pair] {
			continue
		}
		done[pair] = true
		if ver := g.replaced(e.To, e.Key); ver != none && g.w[ver] == from {
			out = append(out, []evidence.Edge{
				{From: e.To, To: from, Dep: evidence.WW, Key: e.Key, Ver: ver, Writer: none},
				{From: from, To: e.To, Dep: evidence.WR, Key: e.Key, Ver: ver, Writer: none}})
		}
	}
	return out
}

// replaced returns the version of a register that t read before it installed its own, or none.
func (g *dependencies) replaced(t, k uint32) uint32 {
	v := g.v
	for r := v.ROff[t]; r < v.ROff[t+1] && g.h.Txns.Status[t] == history.Committed; r++ {
		if v.RKey[r] == k {
			if own := g.versionOf(t, k); own != none && g.w[own] == t {
				return v.RVer(r)
			}
		}
	}
	return none
}

// cycles finds in each component of the graph one cycle of each class, without sessions and time, with sessions, and
// with time.
func (g *dependencies) cycles(ctx context.Context) (found []evidence.Anomaly) {
	comp, n := graph.Components(graph.BuildFunc(g.n, func(emit func(u, v int32)) {
		for i := range g.edges {
			emit(int32(g.edges[i].From), int32(g.edges[i].To))
		}
	}))
	by := graph.NewGroups[int32](n)
	for i := range g.edges {
		if c := comp[g.edges[i].From]; c == comp[g.edges[i].To] {
			by.Count(c)
		}
	}
	parts := make([]edge, by.Sum())
	for i := range g.edges {
		if c := comp[g.edges[i].From]; c == comp[g.edges[i].To] {
			parts[by.Place(c)] = g.edges[i]
		}
	}
	from := by.Off()
	s := &search{local: make([]int32, g.n)}
	for c := range int(n) {
		p := parts[from[c]:from[c+1]]
		if len(p) == 0 || g.cut {
			continue
		}
		slices.SortFunc(p, func(a, b edge) int { // so that no map's order matters
			return cmp.Or(int(a.From)-int(b.From), int(a.To)-int(b.To), int(a.Dep)-int(b.Dep), int(a.Key)-int(b.Key))
		})
		found = append(found, g.inComponent(ctx, p, s)...)
	}
	return found
}

func (g *dependencies) inComponent(ctx context.Context, part []edge, s *search) (found []evidence.Anomaly) {
	s.begin(part)
	limits := [][]evidence.Dep{nil, {evidence.SO}, {evidence.SO, evidence.RT}}
	for i, limit := range limits {
		if i == 1 && !g.l.Sessions() || i == 2 && !g.l.RealTime() {
			continue
		}
		for _, c := range classes {
			if c.mode == anotherRW && g.l.Snapshot() {
				continue
			}
			var best []edge
			tries := 0
			for _, e := range part {
				if e.Dep != c.first || tries == mostEdges {
					continue
				}
				if tries++; s.work > someSteps+mostTimes*len(g.edges) || ctx.Err() != nil {
					g.cut = true
					break
				}
				use := func(d evidence.Dep) bool { return slices.Contains(c.back, d) || slices.Contains(limit, d) }
				if way := s.back(e, use, c.mode); way != nil && (best == nil || len(way) < len(best)) {
					best = way
				}
			}
			cycle := g.evidence(best)
			if best == nil || i > 0 && !slices.ContainsFunc(cycle, func(e evidence.Edge) bool {
				return e.Dep == limit[i-1]
			}) || slices.ContainsFunc(found, func(a evidence.Anomaly) bool { return slices.Equal(a.Cycle, cycle) }) {
				continue
			}
			found = append(found, evidence.Anomaly{Cycle: cycle, Cycles: g.reasons(cycle)})
		}
	}
	return found
}

// evidence returns a path without the nodes of time.
func (g *dependencies) evidence(way []edge) (out []evidence.Edge) {
	txns := uint32(g.h.NumTxns())
	from := none
	for _, e := range way {
		if e.From < txns {
			from = e.From
		}
		if e.To < txns {
			e.From = from
			out = append(out, e)
		}
	}
	return out
}

// search looks for paths in a component.
type search struct {
	local []int32 // a node's number in the component
	out   []edge  // sorted by source
	at    []int32 // number → where the node's edges begin in out
	steps []step  // by number and state
	on    []int   // number → the last search whose cycle has the node
	round int     // the search that is under way
	work  int     // edges walked over
	queue [][2]int32
}

// states is the number of states in which a node may be reached.
const states = 4

type step struct {
	by     *edge
	before [2]int32
	round  int // the search that made it
}

// begin turns to a component with these edges, and numbers its nodes. Each has an edge.
func (s *search) begin(part []edge) {
	s.out, s.at = part, s.at[:0]
	for i := range part {
		if v := part[i].From; i == 0 || v != part[i-1].From {
			s.local[v] = int32(len(s.at))
			s.at = append(s.at, int32(i))
		}
	}
	n := len(s.at)
	s.at = append(s.at, int32(len(part)))
	if more := n - len(s.on); more > 0 {
		s.on, s.steps = append(s.on, make([]int, more)...), append(s.steps, make([]step, more*states)...)
	}
}

// step returns how a node was reached in a state. It is valid if its round is the current one.
func (s *search) step(y [2]int32) *step { return &s.steps[s.local[y[0]]*states+y[1]] }

// These are the bits of a state: whether the last edge was an anti-dependency, and whether the path has one.
const (
	lastRW = 1
	someRW = 2
)

// back returns a shortest cycle of edge e and a path back from its end by edges that use selects, or nil. If mode asks
// for further anti-dependencies and the shortest path back visits a node twice, the result is nil, even if another path
// does not. Cost: linear in the component.
func (s *search) back(e edge, use func(evidence.Dep) bool, mode uint8) []edge {
	start := [2]int32{int32(e.To), 0}
	if mode == apartRW {
		start[1] = lastRW
	}
	s.round++
	s.step(start).round = s.round
	s.queue = append(s.queue[:0], start)
	for i := 0; i < len(s.queue); i++ {
		x := s.queue[i]
		n := s.local[x[0]]
		s.work += int(s.at[n+1] - s.at[n])
		for j := s.at[n]; j < s.at[n+1]; j++ {
			f := &s.out[j]
			rw := f.Dep == evidence.RW
			if f.To == e.To || !use(f.Dep) || mode == apartRW && rw && x[1]&lastRW != 0 {
				continue
			}
			y := [2]int32{int32(f.To), 0}
			if mode != anyWay {
				y[1] = x[1] & someRW
				if rw {
					y[1] |= someRW
				}
				if mode == apartRW && rw {
					y[1] |= lastRW
				}
			}
			reached := s.step(y)
			if reached.round == s.round {
				continue
			}
			*reached = step{f, x, s.round}
			if f.To != e.From {
				s.queue = append(s.queue, y)
			} else if mode == anyWay || y[1]&someRW != 0 && y[1]&lastRW == 0 {
				return s.cycle(e, start, y)
			}
		}
	}
	return nil
}

// cycle returns edge e and the path that the search found, or nil if that visits a node twice.
func (s *search) cycle(e edge, start, y [2]int32) []edge {
	var way []edge
	for ; ; y = s.step(y).before {
		on := &s.on[s.local[y[0]]]
		if *on == s.round {
			return nil
		}
		*on = s.round
		if y == start {
			break
		}
		way = append(way, *s.step(y).by)
	}
	way = append(way, e)
	slices.Reverse(way)
	return way
}
