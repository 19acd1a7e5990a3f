package graph

// Topological lists the nodes so that every edge goes from an earlier to a later one (Kahn). If the
// graph has a cycle, ok is false and order holds only the nodes that no cycle reaches.
//
// Nodes become ready first in, first out, starting in id order: a graph numbered close to a
// topological order is walked close to memory order.
//
// Cost: O(n+m), two slices.
func Topological(g *CSR) (order []int32, ok bool) {
	n := g.N()
	waits := indegrees(g)
	order = make([]int32, 0, n)
	for v, w := range waits {
		if w == 0 {
			order = append(order, int32(v))
		}
	}
	for head := 0; head < len(order); head++ {
		for _, v := range g.Succ(order[head]) {
			if waits[v]--; waits[v] == 0 {
				order = append(order, v)
			}
		}
	}
	return order, len(order) == n
}

func indegrees(g *CSR) []uint32 {
	waits := make([]uint32, g.N())
	for _, v := range g.Adj {
		waits[v]++
	}
	return waits
}

// TopologicalBy is the topological order that at each step takes, of the nodes all of whose
// predecessors are out, the one with the smallest priority; equal priorities go by id. On a cycle
// it answers like [Topological].
//
// Cost: O(m + n log w), w the most nodes ready at once.
func TopologicalBy(g *CSR, priority []int64) (order []int32, ok bool) {
	n := g.N()
	waits := indegrees(g)
	ready := heap{key: priority}
	for v, w := range waits {
		if w == 0 {
			ready.push(int32(v))
		}
	}
	order = make([]int32, 0, n)
	for len(ready.node) > 0 {
		u := ready.pop()
		order = append(order, u)
		for _, v := range g.Succ(u) {
			if waits[v]--; waits[v] == 0 {
				ready.push(v)
			}
		}
	}
	return order, len(order) == n
}

// heap is a binary heap of nodes, smallest (key, id) on top. container/heap would box every node.
type heap struct {
	node []int32
	key  []int64
}

func (h *heap) less(u, v int32) bool {
	return h.key[u] < h.key[v] || h.key[u] == h.key[v] && u < v
}

func (h *heap) push(v int32) {
	h.node = append(h.node, v)
	i := len(h.node) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h.less(v, h.node[up]) {
			break
		}
		h.node[i] = h.node[up]
		i = up
	}
	h.node[i] = v
}

func (h *heap) pop() int32 {
	top := h.node[0]
	last := len(h.node) - 1
	v := h.node[last]
	h.node = h.node[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h.less(h.node[down+1], h.node[down]) {
			down++
		}
		if !h.less(h.node[down], v) {
			break
		}
		h.node[i] = h.node[down]
		i = down
	}
	h.node[i] = v
	return top
}

// IsTopological reports whether order lists every node once and every edge goes forward in it.
//
// Cost: O(n+m).
func IsTopological(g *CSR, order []int32) bool {
	n := g.N()
	if len(order) != n {
		return false
	}
	pos := make([]int32, n)
	for i, v := range order {
		if uint32(v) >= uint32(n) || pos[v] != 0 {
			return false
		}
		pos[v] = int32(i) + 1
	}
	for u := range int32(n) {
		for _, v := range g.Succ(u) {
			if pos[u] >= pos[v] {
				return false
			}
		}
	}
	return true
}
