package lists

import (
	"slices"

	"isovet/evidence"
	"isovet/graph"
)

// maxWork bounds the edges that the search for one kind of cycle looks at.
var maxWork = 1 << 22

// maxCycles bounds how many cycles are reported.
var maxCycles = 20

// typed is an edge of the graph with begin and commit nodes, and why.
type typed struct {
	u, v int32
	dep  evidence.Dep
	key  uint32
}

// Violations returns what refutes the level where Order returned none and nothing is open: a telling cycle for each strongly
// connected component, and how many components it left out.
//
// In each it looks first without sessions and time, then with sessions, then with time, and each time for the worst: G0, only
// ww; G1c, with wr; G-single, with one rw; G-nonadjacent, with several and no two in a row; G2-item (Adya 1999; Elle). Since a
// cycle of begin and commit nodes never has two rw edges in a row, the first four are cycles of these, at any level.
// Cost: linear to find the components; for each, a few bounded searches in it.
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
	parts := make([][]typed, min(len(rank), maxCycles))
	g.each(func(u, v int32, dep evidence.Dep, key uint32) {
		if at, ok := rank[comp[u]]; ok && comp[v] == comp[u] && at < len(parts) {
			parts[at] = append(parts[at], typed{u, v, dep, key})
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
func (g *Graph) telling(part []typed) []evidence.Edge {
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
		for _, kind := range [...]func() []typed{
			func() []typed {
				return s.shortest(s.bc, func(d evidence.Dep) bool { return with(d) && d != evidence.WR && d != evidence.RW })
			},
			func() []typed {
				return s.shortest(s.bc, func(d evidence.Dep) bool { return with(d) && d != evidence.RW })
			},
			func() []typed { return s.single(with) },
			func() []typed { return s.shortest(s.bc, with) },
			func() []typed {
				if g.si {
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

// cycleSearch looks for cycles in one component. Its nodes are numbered anew: begin and commit of a transaction 2i and 2i+1.
type cycleSearch struct {
	g     *Graph
	local map[int32]int32 // the graph's node of a transaction's begin, or an auxiliary node → i
	node  []int32         // i → the same
	// bc are the component's edges on begin and commit nodes, serial those on transactions: 2i for both.
	bc, serial []typed
}

// id numbers the transaction, or auxiliary node, of a graph node.
func (s *cycleSearch) id(u int32) int32 {
	if int(u) < s.g.base && s.g.si {
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

// split fills bc and serial. The auxiliary node of a list at the serializable levels is split in two, as at the others.
func (s *cycleSearch) split(part []typed) {
	g := s.g
	isTxn := func(u int32) bool { return int(u) < g.base }
	for _, e := range part {
		if e.dep == evidence.TS {
			continue
		}
		i, j := 2*s.id(e.u), 2*s.id(e.v)
		s.serial = append(s.serial, typed{i, j, e.dep, e.key})
		switch {
		case isTxn(e.u) && isTxn(e.v):
			if e.dep == evidence.RW {
				s.bc = append(s.bc, typed{i, j + 1, e.dep, e.key})
			} else {
				s.bc = append(s.bc, typed{i + 1, j, e.dep, e.key})
			}
		case e.dep == evidence.RT:
			if isTxn(e.u) {
				i++
			}
			s.bc = append(s.bc, typed{i, j, e.dep, e.key})
		case isTxn(e.u) && e.dep == evidence.RW: // into the second half of a list's node
			s.bc = append(s.bc, typed{i, j + 1, e.dep, e.key})
		case isTxn(e.u):
			s.bc = append(s.bc, typed{i + 1, j, e.dep, e.key})
		default: // out of a list's node
			if g.si {
				if e.dep == evidence.RW {
					s.bc = append(s.bc, typed{i + 1, j + 1, e.dep, e.key})
				} else {
					s.bc = append(s.bc, typed{i, j, e.dep, e.key})
				}
			} else {
				s.bc = append(s.bc, typed{i, j, evidence.WW, e.key}, typed{i + 1, j + 1, evidence.RW, e.key})
			}
		}
	}
	for i, u := range s.node {
		if isTxn(u) {
			s.bc = append(s.bc, typed{int32(2 * i), int32(2*i + 1), evidence.TS, none})
		}
	}
}

// of builds the graph of those edges that use says.
func (s *cycleSearch) of(edges []typed, use func(evidence.Dep) bool) (*graph.CSR, []typed) {
	var in []typed
	var plain []graph.Edge
	for _, e := range edges {
		if use(e.dep) {
			in = append(in, e)
			plain = append(plain, graph.Edge{From: e.u, To: e.v})
		}
	}
	g, from := graph.BuildIndexed(2*len(s.node), plain)
	by := make([]typed, len(in))
	for slot, i := range from {
		by[slot] = in[i]
	}
	return g, by
}

// shortest returns a short cycle of the edges that use says, or nil.
func (s *cycleSearch) shortest(edges []typed, use func(evidence.Dep) bool) []typed {
	g, by := s.of(edges, use)
	within := slices.Concat(graph.Cyclic(g)...)
	if len(within) == 0 {
		return nil
	}
	slices.Sort(within)
	nodes := graph.ShortCycleIn(g, within, maxWork)
	return s.along(g, by, nodes, nodes[0])
}

// along returns the edges of a path of nodes and back to a node.
func (s *cycleSearch) along(g *graph.CSR, by []typed, nodes []int32, back int32) (out []typed) {
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

// single returns a cycle with one anti-dependency: from each one's end a path back without.
func (s *cycleSearch) single(with func(evidence.Dep) bool) []typed {
	g, by := s.of(s.bc, func(d evidence.Dep) bool { return with(d) && d != evidence.RW })
	search := graph.NewSearcher(g.N())
	// Through a list's node an anti-dependency is two edges.
	second := make(map[int32][]typed)
	for _, e := range s.bc {
		if e.dep == evidence.RW && s.node[e.u/2] >= int32(s.g.base) {
			second[e.u] = append(second[e.u], e)
		}
	}
	var best []typed
	tries := 0
	try := func(path []typed) {
		from, to := path[0].u, path[len(path)-1].v
		tries++
		if nodes := search.ShortestPath(g, to, from); nodes != nil && (best == nil || len(nodes)+len(path) < len(best)) {
			best = append(append([]typed(nil), path...), s.along(g, by, nodes[:len(nodes)-1], from)...)
		}
	}
	limit := max(16, maxWork/(g.M()+1))
	for _, e := range s.bc {
		if e.dep != evidence.RW || s.node[e.u/2] >= int32(s.g.base) || tries > limit {
			continue
		}
		if s.node[e.v/2] < int32(s.g.base) {
			try([]typed{e})
			continue
		}
		for _, f := range second[e.v] {
			if f.v/2 != e.u/2 {
				try([]typed{e, f})
			}
		}
	}
	return best
}

// evidence turns a cycle into edges between transactions: those through auxiliary nodes become one.
func (s *cycleSearch) evidence(cycle []typed) (out []evidence.Edge) {
	base := int32(s.g.base)
	txn := func(u int32) uint32 { return s.g.txnOf(s.node[u/2]) }
	aux := func(u int32) bool { return s.node[u/2] >= base }
	at := 0
	for aux(cycle[at].u) {
		at++
	}
	for i := 0; i < len(cycle); {
		e := cycle[(at+i)%len(cycle)]
		i++
		if e.dep == evidence.TS {
			continue
		}
		from, to := txn(e.u), e.v
		for aux(to) {
			to = cycle[(at+i)%len(cycle)].v
			i++
		}
		u := txn(to)
		switch e.dep {
		case evidence.WW:
			out = append(out, s.g.v.ww(from, u, e.key))
		case evidence.WR:
			out = append(out, s.g.v.wr(from, u, e.key))
		case evidence.RW:
			out = append(out, s.g.v.rw(from, u, e.key))
		default:
			out = append(out, bare(from, u, e.dep))
		}
	}
	return out
}
