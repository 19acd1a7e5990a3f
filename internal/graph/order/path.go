package order

import (
	"math"
	"slices"

	"isovet/internal/graph"
)

// Static is the tag that [Order.Path] returns for edges of the base graph.
const Static int32 = math.MinInt32

// Edge is a step of a path: an edge with its caller's tag, or [Static].
type Edge struct{ From, To, Tag int32 }

// pathSearch is the scratch memory of Path. It has its own marks, so that a caller can ask for a path between two
// calls of AddEdge without changing Moved.
type pathSearch struct {
	node       graph.Sparse[reached]
	epoch      uint32
	now, later []int32
	path       []Edge
}

// reached is how a node was best reached in search epoch: dist, and the edge from another node.
type reached struct {
	epoch     uint32
	dist      int32
	from, tag int32
}

// Path explains why from precedes to: it returns the edges of a path of least total cost, or nil, false if there is no
// path. cost returns 0 or 1 for the tag of a dynamic edge; nil means 1 for all. Edges of the base graph cost nothing.
// So a conflict clause has as few literals as possible. Among paths of equal cost it returns a short one, but not
// always a shortest. The path from a node to itself is empty. The slice is valid until the next call.
//
// Source: 0-1 breadth-first search, limited to the positions between from and to. Cost:   O(edges between the two
// positions); no allocation once the scratch memory has grown.
func (o *Order) Path(from, to int32, cost func(tag int32) int8) (path []Edge, ok bool) {
	s := &o.search
	s.node.Grow(len(o.pos))
	s.epoch++
	if s.epoch == 0 {
		s.node.Clear()
		s.epoch = 1
	}
	limit := o.pos[to]
	if o.pos[from] > limit {
		return nil, false
	}
	*s.node.At(from) = reached{epoch: s.epoch}
	now, later := append(s.now[:0], from), s.later[:0]
	defer func() { s.now, s.later = now, later }()
	for level := int32(0); len(now) > 0; level++ {
		for head := 0; head < len(now); head++ {
			x := now[head]
			o.visited++
			if s.node.Get(x).dist != level {
				continue // reached more cheaply after it was queued
			}
			if x == to {
				return s.unwind(from, to), true
			}
			if o.base != nil && int(x) < o.base.N() {
				for _, y := range o.base.Succ(x) {
					if o.pos[y] > limit {
						continue
					}
					if n := s.node.Get(y); n.epoch != s.epoch || n.dist > level {
						*s.node.At(y) = reached{s.epoch, level, x, Static}
						now = append(now, y)
					}
				}
			}
			for i := o.out(x); i != none; i = o.edges[i].nextOut {
				e := &o.edges[i]
				y := e.to
				if o.pos[y] > limit {
					continue
				}
				n := s.node.Get(y)
				if n.epoch == s.epoch && n.dist <= level {
					continue
				}
				if cost != nil && cost(e.tag) == 0 {
					*s.node.At(y) = reached{s.epoch, level, x, e.tag}
					now = append(now, y)
				} else if n.epoch != s.epoch {
					*s.node.At(y) = reached{s.epoch, level + 1, x, e.tag}
					later = append(later, y)
				}
			}
		}
		now, later = later, now[:0]
	}
	return nil, false
}

func (s *pathSearch) unwind(from, to int32) []Edge {
	s.path = s.path[:0]
	for v := to; v != from; {
		n := s.node.Get(v)
		s.path = append(s.path, Edge{n.from, v, n.tag})
		v = n.from
	}
	slices.Reverse(s.path)
	return s.path
}
