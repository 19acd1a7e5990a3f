package acyclic

import (
	"math/bits"

	"isovet/internal/graph"
)

// Reach answers which nodes of a graph reach which others. It is like a [Window] that never changes, in a quarter of
// the memory.
type Reach struct {
	node, rank []int32
	down, up   *halfRows
}

// NewReach makes the closure of a graph with the topological order given. It returns nil if the windows would be too
// wide (more than so many words of 8 bytes, for what nodes reach and again for what reaches them), or if stop, asked
// every few thousand nodes if not nil, says so. Cost: the edges times the words of their windows.
func NewReach(base *graph.CSR, order []int32, words int, stop func() bool) *Reach {
	t := &Window{base: base, node: order, most: words, stop: stop}
	down, up, ok := t.halves()
	if !ok {
		return nil
	}
	return &Reach{node: order, rank: t.rank, down: down, up: up}
}

// Order returns the nodes by rank. The slice must not be changed.
func (t *Reach) Order() []int32 { return t.node }

// Span returns two ranks between which all nodes are that neither reach v nor are reached by it.
func (t *Reach) Span(v int32) (from, to int32) {
	r := t.rank[v]
	return t.up.lo[r] << 6, t.down.hi[r] << 6
}

// Reaches reports whether u reaches v, or is v.
func (t *Reach) Reaches(u, v int32) bool {
	r, s := t.rank[u], t.rank[v]
	w := s >> 6
	if w < t.down.lo[r] {
		return false
	}
	return w >= t.down.hi[r] || t.down.rows[r][w-t.down.lo[r]]>>(s&63)&1 != 0
}

// Middle is like [Window.Middle].
func (t *Reach) Middle(v int32) int64 {
	r := t.rank[v]
	before, after := int64(t.up.lo[r])<<6, max(0, int64(len(t.node))-int64(t.down.hi[r])<<6)
	for _, w := range t.up.rows[r] {
		before += int64(bits.OnesCount64(w))
	}
	for _, w := range t.down.rows[r] {
		after += int64(bits.OnesCount64(w))
	}
	return before - after
}
