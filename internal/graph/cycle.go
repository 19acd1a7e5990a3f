package graph

// FindCycle returns the nodes of some cycle in order, or nil if there is none. There is an edge from the last node to
// the first. It is the first cycle that a depth-first search finds, and may be long; see [ShortCycle].
//
// Cost: O(n+m), 9 bytes a node, explicit stack.
func FindCycle(g *CSR) []int32 {
	n := int32(g.N())
	const (
		fresh = iota
		onPath
		done
	)
	state := make([]uint8, n)
	next := make([]uint32, n)
	var path []int32
	for root := range n {
		if state[root] != fresh {
			continue
		}
		state[root] = onPath
		next[root] = g.Off[root]
		path = append(path[:0], root)
		for len(path) > 0 {
			u := path[len(path)-1]
			if next[u] == g.Off[u+1] {
				state[u] = done
				path = path[:len(path)-1]
				continue
			}
			v := g.Adj[next[u]]
			next[u]++
			switch state[v] {
			case fresh:
				state[v] = onPath
				next[v] = g.Off[v]
				path = append(path, v)
			case onPath:
				i := len(path) - 1
				for path[i] != v {
					i--
				}
				return append([]int32(nil), path[i:]...)
			}
		}
	}
	return nil
}

// Cyclic lists the nodes of each component of two or more nodes, ascending. The components are in topological order.
//
// Cost: O(n+m).
func Cyclic(g *CSR) (parts [][]int32) {
	comp, n := Components(g)
	off, nodes := Group(comp, n)
	for c := range n {
		if part := nodes[off[c]:off[c+1]]; len(part) > 1 {
			parts = append(parts, part)
		}
	}
	return parts
}

// ShortCycle returns a shortest cycle of the smallest component that has one. If that needs more than the given work
// (see [Searcher.ShortestCycle]), it returns another cycle. It returns nil if there is none.
func ShortCycle(g *CSR, work int) []int32 {
	var smallest []int32
	for _, part := range Cyclic(g) {
		if smallest == nil || len(part) < len(smallest) {
			smallest = part
		}
	}
	if smallest == nil {
		return FindCycle(g) // of one node, if any
	}
	return ShortCycleIn(g, smallest, work)
}

// ShortCycleIn is [ShortCycle] for the given nodes; nil means all nodes.
func ShortCycleIn(g *CSR, within []int32, work int) []int32 {
	if cycle, _ := NewSearcher(g.N()).ShortestCycle(g, within, work); cycle != nil {
		return cycle
	}
	return FindCycle(g)
}

// ShortestCycle returns a shortest cycle among the nodes of within (nil means all), or nil if they have no cycle. A
// breadth-first search from each node stops at the length of the best cycle so far. After it has looked at work edges
// (0 means no bound), it returns the best cycle so far and exact false; if it has none, it returns nil, false. In a
// component of millions of nodes a bound is useful: a search from any of its nodes finds a cycle.
//
// Cost: O(|within| · m′), m′ the edges within the best length; usually far less.
func (s *Searcher) ShortestCycle(g *CSR, within []int32, work int) (cycle []int32, exact bool) {
	s.grow(g.N())
	if within == nil {
		within = make([]int32, g.N())
		for v := range within {
			within[v] = int32(v)
		}
	}
	s.restrict()
	for _, v := range within {
		s.allow[v] = s.allowEpoch
	}
	left := work
	if work <= 0 {
		left = int(^uint(0) >> 1)
	}
	for _, v := range within {
		limit := int32(len(cycle)) - 1 // only strictly shorter cycles interest
		if cycle == nil {
			limit = int32(len(within))
		}
		if limit < 1 {
			break
		}
		found, spent, whole := s.cycleThrough(g, v, limit, left)
		if found != nil {
			cycle = append(cycle[:0], found...)
		}
		left -= spent
		if !whole {
			return cycle, false
		}
		// Every shorter cycle through v is now known to be absent.
		s.allow[v] = 0
	}
	return cycle, true
}

// ShortestCycleThrough returns a shortest cycle through v, v first, or nil if there is none.
//
// Cost: O(n+m) at most.
func (s *Searcher) ShortestCycleThrough(g *CSR, v int32) []int32 {
	s.grow(g.N())
	s.restrict()
	for u := range int32(g.N()) {
		s.allow[u] = s.allowEpoch
	}
	found, _, _ := s.cycleThrough(g, v, int32(g.N()), int(^uint(0)>>1))
	return append([]int32(nil), found...)
}

// cycleThrough looks for a cycle of at most limit edges through v among the allowed nodes. It looks at no more than
// work edges; whole says whether they sufficed. The result is valid until the next call.
func (s *Searcher) cycleThrough(g *CSR, v, limit int32, work int) (cycle []int32, spent int, whole bool) {
	s.begin()
	s.visit(v, -1, 0)
	s.queue = append(s.queue[:0], v)
	for head := 0; head < len(s.queue); head++ {
		u := s.queue[head]
		if s.dist[u] >= limit {
			break
		}
		for _, w := range g.Succ(u) {
			if spent++; spent > work {
				return nil, spent, false
			}
			if w == v {
				s.path = s.unwind(u)
				return s.path, spent, true
			}
			if s.allow[w] == s.allowEpoch && s.seen[w] != s.epoch {
				s.visit(w, u, s.dist[u]+1)
				s.queue = append(s.queue, w)
			}
		}
	}
	return nil, spent, true
}
