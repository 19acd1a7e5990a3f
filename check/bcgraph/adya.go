package bcgraph

import (
	"context"

	"isovet/evidence"
	"isovet/internal/graph"
	"isovet/internal/slice"
)

// Adya is the start-ordered serialization graph, with one node per transaction.
type Adya struct {
	in   Input
	g    *graph.CSR
	list []edge
	at   []int32 // slot of g → list
	// Edges counts all edges, Start those of session order and real time.
	Edges, Start int
}

// NewAdya builds the graph. It has a start edge for each pair that sessions or real time order, or with reduced only
// for pairs with no third transaction between.
//
// Source: [BCGraphs] Definition 3, and §5 for the reduction, which "consecutive transactions" leaves open (errata B6).
// Cost:   the start edges: quadratic in the transactions without the reduction; with it, in waves of concurrent ones.
func NewAdya(in Input, reduced bool) *Adya {
	a := &Adya{in: in}
	add := func(e edge) { a.list = append(a.list, e) }
	in.start(reduced, add)
	a.Start = len(a.list)
	in.dependencies(add)
	a.Edges = len(a.list)
	edges := slice.Map(a.list, func(e edge) graph.Edge { return graph.Edge{From: int32(e.from), To: int32(e.to)} })
	a.g, a.at = graph.BuildIndexed(in.V.H.NumTxns(), edges)
	return a
}

// Forbidden searches the strongly connected components for a simple cycle in which no two anti-dependencies are
// adjacent. It searches depth first from each node through larger nodes of its component, and visits every simple cycle
// at worst. ok is false if the context ended first.
//
// Source: [BCGraphs] §5, the baseline; errata B2 for which cycles are forbidden, and why simple ones suffice.
// Cost:   exponential in the size of a component.
func (a *Adya) Forbidden(ctx context.Context) (cycle []evidence.Edge, ok bool) {
	comp, n := graph.Components(a.g)
	off, _ := graph.Group(comp, n)
	s := &search{Adya: a, ctx: ctx, comp: comp, on: make([]bool, a.g.N())}
	for root := range int32(a.g.N()) {
		if c := comp[root]; off[c+1]-off[c] < 2 {
			continue
		}
		if s.from(root) {
			return slice.Map(s.path, func(e int32) evidence.Edge { return a.in.evidence(a.list[e]) }), true
		}
		if s.stopped {
			return nil, false
		}
	}
	return nil, true
}

// search walks simple paths from a root.
type search struct {
	*Adya
	ctx     context.Context
	comp    []int32
	on      []bool
	path    []int32 // of edges, as indices into list
	steps   int
	stopped bool
}

// from looks for a forbidden cycle in which root is the smallest node.
func (s *search) from(root int32) bool {
	type frame struct {
		node int32
		next uint32
	}
	stack := []frame{{root, s.g.Off[root]}}
	s.on[root] = true
	s.path = s.path[:0]
	anti := func(e int32) bool { return s.list[e].dep == evidence.RW }
	for len(stack) > 0 {
		if s.steps++; s.steps&0xffff == 0 && s.ctx.Err() != nil {
			s.stopped = true
			return false
		}
		f := &stack[len(stack)-1]
		if f.next == s.g.Off[f.node+1] {
			s.on[f.node] = false
			stack = stack[:len(stack)-1]
			if len(s.path) > 0 {
				s.path = s.path[:len(s.path)-1]
			}
			continue
		}
		slot := f.next
		f.next++
		v, e := s.g.Adj[slot], s.at[slot]
		if len(s.path) > 0 && anti(e) && anti(s.path[len(s.path)-1]) {
			continue // adjacent anti-dependencies: snapshot isolation allows the cycle
		}
		if v == root && len(s.path) > 0 {
			if !anti(e) || !anti(s.path[0]) {
				s.path = append(s.path, e)
				return true
			}
			continue
		}
		if v <= root || s.on[v] || s.comp[v] != s.comp[root] {
			continue
		}
		s.on[v] = true
		s.path = append(s.path, e)
		stack = append(stack, frame{v, s.g.Off[v]})
	}
	return false
}
