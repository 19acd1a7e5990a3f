package graph

import "slices"

// Searcher runs breadth-first searches on reused memory, so that many small searches in a large graph cost only the
// nodes they visit. The zero value is ready. Only one goroutine may use it.
type Searcher struct {
	seen       []uint32 // Invariant: v was visited by the running search iff seen[v] == epoch
	epoch      uint32
	allow      []uint32 // nodes a search may enter, where it is restricted
	allowEpoch uint32
	parent     []int32
	dist       []int32
	queue      []int32
	path       []int32
}

// NewSearcher returns a searcher for graphs of up to n nodes. It grows when it is used on a larger one.
func NewSearcher(n int) *Searcher {
	s := &Searcher{}
	s.grow(n)
	return s
}

func (s *Searcher) grow(n int) {
	if n <= len(s.seen) {
		return
	}
	s.seen = make([]uint32, n)
	s.allow = make([]uint32, n)
	s.parent = make([]int32, n)
	s.dist = make([]int32, n)
	s.epoch, s.allowEpoch = 0, 0
}

// begin clears the marks of the last search.
func (s *Searcher) begin() {
	s.epoch++
	if s.epoch == 0 { // 2³² searches: old stamps would count as new
		clear(s.seen)
		s.epoch = 1
	}
}

// restrict clears which nodes a search may enter.
func (s *Searcher) restrict() {
	s.allowEpoch++
	if s.allowEpoch == 0 {
		clear(s.allow)
		s.allowEpoch = 1
	}
}

func (s *Searcher) visit(v, parent, dist int32) {
	s.seen[v] = s.epoch
	s.parent[v] = parent
	s.dist[v] = dist
}

// unwind returns the nodes from the root of the search to v, in scratch memory.
func (s *Searcher) unwind(v int32) []int32 {
	path := s.path[:0]
	for ; v >= 0; v = s.parent[v] {
		path = append(path, v)
	}
	slices.Reverse(path)
	return path
}

// ShortestPath returns the nodes of a path with the fewest edges, both ends included, or nil if
// there is none. The path from a node to itself is that node.
func ShortestPath(g *CSR, from, to int32) []int32 {
	return NewSearcher(g.N()).ShortestPath(g, from, to)
}

// ShortestPath is the function [ShortestPath] on reused memory. The result belongs to the caller.
//
// Cost: O(edges nearer than to).
func (s *Searcher) ShortestPath(g *CSR, from, to int32) []int32 {
	s.grow(g.N())
	s.begin()
	s.visit(from, -1, 0)
	s.queue = append(s.queue[:0], from)
	for head := 0; head < len(s.queue); head++ {
		u := s.queue[head]
		if u == to {
			s.path = s.unwind(u)
			return append([]int32(nil), s.path...)
		}
		for _, v := range g.Succ(u) {
			if s.seen[v] != s.epoch {
				s.visit(v, u, s.dist[u]+1)
				s.queue = append(s.queue, v)
			}
		}
	}
	return nil
}
