package bcgraph

import (
	"isovet/evidence"
	"isovet/graph"
)

// BC is the graph of begins and commits: transaction t has node 2t, its begin, and 2t+1, its commit. Nodes of time come after.
type BC struct {
	in    Input
	base  int // nodes of transactions
	g     *graph.CSR
	Edges int
}

// NewBC makes the graph. Session order is one edge a transaction, real time a chain of O(n) auxiliary nodes (errata B6).
// Cost: linear, two sorts with real time.
func NewBC(in Input) *BC {
	b := &BC{in: in, base: 2 * in.V.H.NumTxns()}
	total := b.base
	var time []graph.Edge
	if in.Level.RealTime() {
		rel, due := make([]int64, b.base), make([]int64, b.base)
		for t := range uint32(b.base / 2) {
			rel[2*t], due[2*t], rel[2*t+1], due[2*t+1] = graph.NoStart, graph.NoEnd, graph.NoStart, graph.NoEnd
			if in.V.Counts[t] {
				rel[2*t], due[2*t+1] = in.V.H.Window(t, in.Skew)
			}
		}
		aux, edges := graph.TimeChain(rel, due)
		total, time = total+aux, edges
	}
	b.g = graph.BuildFunc(total, func(emit func(u, v int32)) {
		b.each(func(u, v int32, _ edge) { emit(u, v) })
		for _, e := range time {
			emit(e.From, e.To)
		}
	})
	b.Edges = b.g.M()
	return b
}

// each calls f for the edges but those of time; those within a transaction have from == to.
func (b *BC) each(f func(u, v int32, e edge)) {
	for t := range uint32(b.base / 2) {
		if b.in.V.Counts[t] {
			f(int32(2*t), int32(2*t+1), edge{from: t, to: t, w: none})
		}
	}
	dep := func(e edge) {
		if e.dep == evidence.RW {
			f(int32(2*e.from), int32(2*e.to+1), e)
		} else {
			f(int32(2*e.from+1), int32(2*e.to), e)
		}
	}
	b.in.sessions(false, dep)
	b.in.dependencies(dep)
}

// Order returns an order of begins and commits (evidence.Result.Order); false: the graph has a cycle.
// Source: [BCGraphs] Theorem 8, §4: acyclicity in O(nodes + edges).
func (b *BC) Order() ([]uint32, bool) {
	topo, ok := graph.Topological(b.g)
	if !ok {
		return nil, false
	}
	order := make([]uint32, 0, 2*b.in.V.NumCounts)
	for _, u := range topo {
		if int(u) < b.base && b.in.V.Counts[u>>1] {
			order = append(order, uint32(u))
		}
	}
	return order, true
}

// Violation returns a cycle that no order of versions could avoid, if sessions, reads and time close one, else one of the graph.
func (b *BC) Violation() []evidence.Edge {
	if c := Unordered(b.in); c != nil {
		return c
	}
	return b.Cycle()
}

// Unordered returns a cycle of sessions, reads and time alone, or nil.
func Unordered(in Input) []evidence.Edge {
	in.Orders.Next = make([]uint32, len(in.V.WKey))
	for w := range in.Orders.Next {
		in.Orders.Next[w] = none
	}
	b := NewBC(in)
	if _, ok := b.Order(); ok {
		return nil
	}
	return b.Cycle()
}

// cycleWork bounds the search for a cycle of the fewest edges.
const cycleWork = 4 << 20

// Cycle returns a cycle of few edges of a graph that has one: in it no two anti-dependencies are adjacent.
func (b *BC) Cycle() []evidence.Edge {
	return b.explain(graph.ShortCycle(b.g, cycleWork))
}

// explain turns a cycle of nodes into evidence: steps within a transaction are left out, those through nodes of time become one.
func (b *BC) explain(nodes []int32) []evidence.Edge {
	want := make(map[[2]int32]edge)
	for i, u := range nodes {
		want[[2]int32{u, nodes[(i+1)%len(nodes)]}] = edge{from: none}
	}
	b.each(func(u, v int32, e edge) {
		if x, ok := want[[2]int32{u, v}]; ok && x.from == none {
			want[[2]int32{u, v}] = e
		}
	})
	first := 0 // begin at a transaction, not amid time
	for int(nodes[first]) >= b.base {
		first++
	}
	var out []evidence.Edge
	last := nodes[first]
	for i := range nodes {
		v := nodes[(first+i+1)%len(nodes)]
		if int(v) >= b.base {
			continue
		}
		e, ok := want[[2]int32{last, v}]
		if !ok { // through time
			e = edge{uint32(last) >> 1, uint32(v) >> 1, none, evidence.RT}
		}
		if e.from != e.to {
			out = append(out, b.in.evidence(e))
		}
		last = v
	}
	return out
}
