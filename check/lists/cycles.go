package lists

import (
	"slices"

	"isovet/check/events"
	"isovet/evidence"
	"isovet/internal/graph"
)

// maxWork bounds the edges that the search for one kind of cycle examines.
var maxWork = 1 << 22

// maxCycles bounds how many cycles are reported.
var maxCycles = 20

// Violations returns the anomalies of a graph for which Order returned none and not open: the most telling cycle of
// each strongly connected component. also counts the components beyond maxCycles.
//
// In each component it searches first without sessions and real time, then with sessions, then with real time. In each
// of these it searches for the most severe anomaly first: G0, only ww; G1c, with wr; G-single, with one rw;
// G-nonadjacent, with several rw but no two adjacent; G2-item (Adya 1999; Elle). A cycle of begin and commit nodes
// never has two adjacent rw edges, so that at any level the first four are such cycles. Cost: linear to find the
// components; for each, a few bounded searches in it.
func (g *Graph) Violations() (found []evidence.Anomaly, also int) {
	v := g.v
	if g.lost[0] != none {
		a, b, key := v.WTxn[g.lost[0]], v.WTxn[g.lost[1]], v.WKey[g.lost[0]]
		return []evidence.Anomaly{{Cycles: [][]evidence.Edge{
			{v.ww(a, b, key), v.rw(b, a, key)},
			{v.ww(b, a, key), v.rw(a, b, key)},
		}}}, 0
	}
	comp, n := graph.Components(g.g)
	off, _ := graph.Group(comp, n)
	rank := make(map[int32]int) // component of a cycle → its place
	for _, c := range comp {
		if _, ok := rank[c]; !ok && off[c+1]-off[c] > 1 {
			rank[c] = len(rank)
		}
	}
	if len(rank) > maxCycles {
		also = len(rank) - maxCycles
	}
	parts := make([][]events.Step, min(len(rank), maxCycles))
	g.each(func(u, v int32, dep evidence.Dep, key uint32) {
		if at, ok := rank[comp[u]]; ok && comp[v] == comp[u] && at < len(parts) {
			parts[at] = append(parts[at], events.Step{U: u, V: v, Dep: dep, Of: key})
		}
	})
	for _, p := range parts {
		c := g.telling(p)
		if c == nil {
			panic("lists: a component without a cycle")
		}
		c = v.plain(c)
		found = append(found, evidence.Anomaly{Cycle: c, Cycles: v.reasons(c)})
	}
	return found, also
}

// telling returns the most telling cycle of a component.
func (g *Graph) telling(part []events.Step) []evidence.Edge {
	s := &cycleSearch{g: g, local: make(map[int32]int32)}
	s.split(part)
	for _, limit := range [...]evidence.Dep{evidence.WR, evidence.SO, evidence.RT} {
		with := func(d evidence.Dep) bool {
			switch d {
			case evidence.SO:
				return limit != evidence.WR
			case evidence.RT:
				return limit == evidence.RT
			}
			return true
		}
		for _, kind := range [...]func() []events.Step{
			func() []events.Step {
				return s.shortest(s.bc, func(d evidence.Dep) bool {
					return with(d) && d != evidence.WR && d != evidence.RW
				})
			},
			func() []events.Step {
				return s.shortest(s.bc, func(d evidence.Dep) bool { return with(d) && d != evidence.RW })
			},
			func() []events.Step { return s.single(with) },
			func() []events.Step { return s.shortest(s.bc, with) },
			func() []events.Step {
				if g.Split {
					return nil
				}
				return s.shortest(s.serial, with)
			},
		} {
			if c := kind(); c != nil {
				return s.evidence(c)
			}
		}
	}
	return nil
}

// cycleSearch searches for cycles in one component. It numbers the component's nodes: 2i and 2i+1 are the begin and the
// commit of transaction i.
type cycleSearch struct {
	g     *Graph
	local map[int32]int32 // the graph's node of a transaction's begin, or an auxiliary node → i
	node  []int32         // i → the same
	// bc are the component's edges on begin and commit nodes, serial those on transactions: 2i for both.
	bc, serial []events.Step
}

// id returns the number of the transaction or auxiliary node to which a graph node belongs.
func (s *cycleSearch) id(u int32) int32 {
	if int(u) < s.g.Base && s.g.Split {
		u &^= 1
	}
	i, ok := s.local[u]
	if !ok {
		i = int32(len(s.node))
		s.local[u] = i
		s.node = append(s.node, u)
	}
	return i
}

// split fills bc and serial. For bc, the auxiliary node of a list is always split in two.
func (s *cycleSearch) split(part []events.Step) {
	g := s.g
	isTxn := func(u int32) bool { return int(u) < g.Base }
	for _, e := range part {
		if e.Dep == events.Within {
			continue
		}
		i, j := 2*s.id(e.U), 2*s.id(e.V)
		s.serial = append(s.serial, events.Step{U: i, V: j, Dep: e.Dep, Of: e.Of})
		switch {
		case isTxn(e.U) && isTxn(e.V):
			if e.Dep == evidence.RW {
				s.bc = append(s.bc, events.Step{U: i, V: j + 1, Dep: e.Dep, Of: e.Of})
			} else {
				s.bc = append(s.bc, events.Step{U: i + 1, V: j, Dep: e.Dep, Of: e.Of})
			}
		case e.Dep == evidence.RT:
			if isTxn(e.U) {
				i++
			}
			s.bc = append(s.bc, events.Step{U: i, V: j, Dep: e.Dep, Of: e.Of})
		case isTxn(e.U) && e.Dep == evidence.RW: // into the second half of a list's node
			s.bc = append(s.bc, events.Step{U: i, V: j + 1, Dep: e.Dep, Of: e.Of})
		case isTxn(e.U):
			s.bc = append(s.bc, events.Step{U: i + 1, V: j, Dep: e.Dep, Of: e.Of})
		default: // out of a list's node
			if g.Split {
				if e.Dep == evidence.RW {
					s.bc = append(s.bc, events.Step{U: i + 1, V: j + 1, Dep: e.Dep, Of: e.Of})
				} else {
					s.bc = append(s.bc, events.Step{U: i, V: j, Dep: e.Dep, Of: e.Of})
				}
			} else {
				s.bc = append(s.bc, events.Step{U: i, V: j, Dep: evidence.WW, Of: e.Of}, events.Step{U: i + 1, V: j + 1,
					Dep: evidence.RW, Of: e.Of})
			}
		}
	}
	for i, u := range s.node {
		if isTxn(u) {
			s.bc = append(s.bc, events.Step{U: int32(2 * i), V: int32(2*i + 1), Dep: events.Within, Of: none})
		}
	}
}

// of builds the graph of the edges that use selects.
func (s *cycleSearch) of(edges []events.Step, use func(evidence.Dep) bool) (*graph.CSR, []events.Step) {
	var in []events.Step
	var plain []graph.Edge
	for _, e := range edges {
		if use(e.Dep) {
			in = append(in, e)
			plain = append(plain, graph.Edge{From: e.U, To: e.V})
		}
	}
	g, from := graph.BuildIndexed(2*len(s.node), plain)
	by := make([]events.Step, len(in))
	for slot, i := range from {
		by[slot] = in[i]
	}
	return g, by
}

// shortest returns a short cycle of the edges that use selects, or nil.
func (s *cycleSearch) shortest(edges []events.Step, use func(evidence.Dep) bool) []events.Step {
	g, by := s.of(edges, use)
	within := slices.Concat(graph.Cyclic(g)...)
	if len(within) == 0 {
		return nil
	}
	slices.Sort(within)
	nodes := graph.ShortCycleIn(g, within, maxWork)
	return s.along(g, by, nodes, nodes[0])
}

// along returns the edges of a path, and the edge from its end to back.
func (s *cycleSearch) along(g *graph.CSR, by []events.Step, nodes []int32, back int32) (out []events.Step) {
	for i, u := range nodes {
		to := back
		if i+1 < len(nodes) {
			to = nodes[i+1]
		}
		for slot := g.Off[u]; slot < g.Off[u+1]; slot++ {
			if g.Adj[slot] == to {
				out = append(out, by[slot])
				break
			}
		}
	}
	return out
}

// single returns a cycle with exactly one anti-dependency, or nil.
func (s *cycleSearch) single(with func(evidence.Dep) bool) []events.Step {
	g, by := s.of(s.bc, func(d evidence.Dep) bool { return with(d) && d != evidence.RW })
	search := graph.NewSearcher(g.N())
	// An anti-dependency through a list's auxiliary node has two edges.
	second := make(map[int32][]events.Step)
	for _, e := range s.bc {
		if e.Dep == evidence.RW && s.node[e.U/2] >= int32(s.g.Base) {
			second[e.U] = append(second[e.U], e)
		}
	}
	var best []events.Step
	tries := 0
	try := func(path []events.Step) {
		from, to := path[0].U, path[len(path)-1].V
		tries++
		if nodes := search.ShortestPath(g, to, from); nodes != nil && (best == nil || len(nodes)+
			len(path) < len(best)) {
			best = append(append([]events.Step(nil), path...), s.along(g, by, nodes[:len(nodes)-1], from)...)
		}
	}
	limit := max(16, maxWork/(g.M()+1))
	for _, e := range s.bc {
		if e.Dep != evidence.RW || s.node[e.U/2] >= int32(s.g.Base) || tries > limit {
			continue
		}
		if s.node[e.V/2] < int32(s.g.Base) {
			try([]events.Step{e})
			continue
		}
		for _, f := range second[e.V] {
			if f.V/2 != e.U/2 {
				try([]events.Step{e, f})
			}
		}
	}
	return best
}

// evidence translates a cycle to edges between transactions.
func (s *cycleSearch) evidence(cycle []events.Step) []evidence.Edge {
	v := s.g.v
	txn := func(u int32) uint32 {
		if node := s.node[u/2]; node < int32(s.g.Base) {
			return s.g.Txn(node)
		}
		return none
	}
	return events.Cycle(cycle, txn, func(from, to uint32, e events.Step) evidence.Edge {
		switch e.Dep {
		case evidence.WW:
			return v.ww(from, to, e.Of)
		case evidence.WR:
			return v.wr(from, to, e.Of)
		}
		return v.rw(from, to, e.Of)
	})
}
