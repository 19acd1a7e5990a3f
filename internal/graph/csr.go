package graph

import (
	"fmt"
	"math"
)

// Edge is a directed edge: From must precede To.
type Edge struct{ From, To int32 }

// CSR is a directed graph in compressed sparse rows: the successors of v are Adj[Off[v]:Off[v+1]].
//
// Invariant: len(Off) == N+1, Off[0] == 0, Off never decreases, Off[N] == len(Adj). Parallel edges and self-loops stay.
type CSR struct {
	Off []uint32
	Adj []int32
}

// Build makes a graph on nodes 0 … n−1 from edges, by a stable counting sort on their sources.
//
// Cost: O(n+m), two slices.
func Build(n int, edges []Edge) *CSR {
	b := NewBuilder(n)
	for _, e := range edges {
		b.Count(e.From)
	}
	b.Fill()
	for _, e := range edges {
		b.Add(e.From, e.To)
	}
	return b.CSR()
}

// BuildIndexed is [Build] that also returns where each edge is: slot s of Adj has edges[from[s]].
func BuildIndexed(n int, edges []Edge) (g *CSR, from []int32) {
	b := NewBuilder(n)
	for _, e := range edges {
		b.Count(e.From)
	}
	b.Fill()
	from = make([]int32, len(edges))
	for i, e := range edges {
		from[b.Add(e.From, e.To)] = int32(i)
	}
	return b.CSR(), from
}

// BuildFunc builds a graph from a function that emits its edges. It is called twice, once to count
// and once to fill, and must emit the same edges in the same order both times.
//
// Cost: O(n+m), two slices and no list of edges.
func BuildFunc(n int, each func(emit func(u, v int32))) *CSR {
	b := NewBuilder(n)
	each(func(u, _ int32) { b.Count(u) })
	b.Fill()
	each(func(u, v int32) { b.Add(u, v) })
	return b.CSR()
}

// Builder makes a [CSR] in two passes over edges that are never listed: Count each edge's source, Fill, Add each edge,
// CSR.
type Builder struct {
	off    []uint32 // while counting: off[v+1] = edges of v; while filling: off[v] = next free slot of v
	adj    []int32
	filled int
	beside *Builder
}

// NewBuilder starts a graph on nodes 0 … n−1.
func NewBuilder(n int) *Builder { return &Builder{off: make([]uint32, n+1)} }

// Beside returns a builder that another goroutine can use: it counts edges of the same graph and, after b.Fill, adds
// them. They come after b's edges of the same source. Beside may be called once; only b has Fill and CSR.
func (b *Builder) Beside() *Builder {
	b.beside = NewBuilder(len(b.off) - 1)
	return b.beside
}

// Count counts one edge from u.
func (b *Builder) Count(u int32) { b.off[u+1]++ }

// Fill ends the counting.
func (b *Builder) Fill() {
	total := uint64(0)
	var also []uint32
	if b.beside != nil {
		also = b.beside.off
	}
	for i, c := range b.off {
		total += uint64(c)
		if also != nil {
			if total += uint64(also[i]); i+1 < len(b.off) {
				also[i] = uint32(total) + b.off[i+1]
			}
		}
		if total > math.MaxUint32 {
			panic("graph: more than 2³²−1 edges")
		}
		b.off[i] = uint32(total)
	}
	b.adj = make([]int32, total)
	if b.beside != nil {
		b.beside.adj = b.adj
	}
}

// Add adds a counted edge and returns its slot.
func (b *Builder) Add(u, v int32) (slot uint32) {
	if uint32(v) >= uint32(len(b.off)-1) {
		panic(fmt.Sprintf("graph: edge %d → %d leaves a graph of %d nodes", u, v, len(b.off)-1))
	}
	slot = b.off[u]
	b.adj[slot] = v
	b.off[u]++
	b.filled++
	return slot
}

// CSR returns the finished graph. The builder must not be used afterwards.
func (b *Builder) CSR() *CSR {
	ends := b.off
	if b.beside != nil {
		b.filled += b.beside.filled
		ends = b.beside.off
	}
	if b.filled != len(b.adj) {
		panic(fmt.Sprintf("graph: %d edges announced, %d added", len(b.adj), b.filled))
	}
	// Each cursor stands at the end of its row, which is where the next row starts.
	copy(b.off[1:], ends)
	b.off[0] = 0
	return &CSR{Off: b.off, Adj: b.adj}
}

// N is the number of nodes.
func (g *CSR) N() int { return len(g.Off) - 1 }

// M is the number of edges.
func (g *CSR) M() int { return len(g.Adj) }

// Succ lists the successors of v. The slice belongs to the graph.
func (g *CSR) Succ(v int32) []int32 { return g.Adj[g.Off[v]:g.Off[v+1]] }

// Reverse returns the graph with all edges reversed.
//
// Cost: O(n+m), two slices.
func (g *CSR) Reverse() *CSR {
	b := NewBuilder(g.N())
	for _, v := range g.Adj {
		b.Count(v)
	}
	b.Fill()
	for u := range int32(g.N()) {
		for _, v := range g.Succ(u) {
			b.Add(v, u)
		}
	}
	return b.CSR()
}
