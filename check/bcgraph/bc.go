package bcgraph

import (
	"slices"

	"isovet/check/events"
	"isovet/evidence"
	"isovet/internal/graph"
)

// BC is the graph of begins and commits: transaction t has node 2t, its begin, and 2t+1, its commit. At the
// serializable levels the two are one node, t, and the graph is the serialization graph. Nodes of time come after
// these.
type BC struct {
	events.Events
	in   Input
	full bool
	g    *graph.CSR
	// Edges counts all edges; Start, for the full graph only, those of session order and real time.
	Edges, Start int
}

// NewBC builds the graph. Session order is one edge a transaction, real time a chain of O(n) auxiliary nodes (errata
// B6). Cost: linear, two sorts with real time.
func NewBC(in Input) *BC { return newBC(in, false) }

// NewFullBC builds the graph with a start edge for each pair that session order or real time orders, as in [BCGraphs]
// Definition 6, to measure begins and commits without the chain. Cost: quadratic.
func NewFullBC(in Input) *BC {
	b := newBC(in, true)
	b.Start = b.Edges
	for _, c := range b.Counts {
		if c && b.Split {
			b.Start-- // do not count the edge from begin to commit
		}
	}
	in.dependencies(func(edge) { b.Start-- })
	return b
}

func newBC(in Input, full bool) *BC {
	b := &BC{in: in, full: full, Events: events.New(in.V.H, in.V.Counts, in.Level, in.Skew)}
	total := b.Base
	var time []graph.Edge
	if in.Level.RealTime() && !full {
		var aux int
		aux, time = b.Time(total)
		total += aux
	}
	b.g = graph.BuildFunc(total, func(emit func(u, v int32)) {
		b.each(func(s events.Step) { emit(s.U, s.V) })
		for _, e := range time {
			emit(e.From, e.To)
		}
	})
	b.Edges = b.g.M()
	return b
}

// each calls f for all edges except those of the chain of time. Of is the write that was read or installed.
func (b *BC) each(f func(s events.Step)) {
	for t := range uint32(len(b.Counts)) {
		if b.Counts[t] && b.Split {
			f(events.Step{U: b.Begin(t), V: b.Commit(t), Dep: events.Within, Of: none})
		}
	}
	dep := func(e edge) {
		if e.dep == evidence.RW {
			f(events.Step{U: b.Begin(e.from), V: b.Commit(e.to), Dep: e.dep, Of: e.w})
		} else {
			f(events.Step{U: b.Commit(e.from), V: b.Begin(e.to), Dep: e.dep, Of: e.w})
		}
	}
	if b.full {
		b.in.start(false, dep)
	} else {
		b.in.sessions(false, dep)
	}
	b.in.dependencies(dep)
}

// Order returns an order of begins and commits (evidence.Result.Order), or false if the graph has a cycle. Source:
// [BCGraphs] Theorem 8, §4: acyclicity in O(nodes + edges).
func (b *BC) Order() ([]uint32, bool) {
	topo, ok := graph.Topological(b.g)
	if !ok {
		return nil, false
	}
	return b.Events.Order(topo), true
}

// Violation returns a cycle of sessions, reads and time alone, which no order of versions can avoid; if there is none,
// a cycle of the whole graph.
func (b *BC) Violation() []evidence.Edge {
	if c := Unordered(b.in); c != nil {
		return c
	}
	return b.Cycle()
}

// Unordered returns a cycle of sessions, reads and time alone, or nil.
func Unordered(in Input) []evidence.Edge {
	in.Orders.Next = slices.Repeat([]uint32{none}, len(in.V.WKey))
	b := NewBC(in)
	if _, ok := b.Order(); ok {
		return nil
	}
	return b.Cycle()
}

// cycleWork bounds the search for a cycle with the fewest edges.
const cycleWork = 4 << 20

// Cycle returns a short cycle of a graph that has one. No two anti-dependencies are adjacent in it.
func (b *BC) Cycle() []evidence.Edge {
	return events.Cycle(events.Steps(graph.ShortCycle(b.g, cycleWork), b.each), func(node int32) uint32 {
		if int(node) < b.Base {
			return b.Txn(node)
		}
		return none
	}, func(from, to uint32, s events.Step) evidence.Edge { return b.in.evidence(edge{from, to, s.Of, s.Dep}) })
}
