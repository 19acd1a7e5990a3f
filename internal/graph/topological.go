package graph

import "isovet/internal/heap"

// Topological lists the nodes so that every edge goes from an earlier to a later one (Kahn). If the graph has a cycle,
// ok is false and order has only the nodes that no cycle reaches.
//
// Ready nodes are taken first in, first out, and at first by number: if the numbers are close to a topological order,
// memory is accessed almost in order.
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

// TopologicalBy returns the topological order that takes at each step, of the nodes whose predecessors are all taken,
// the one with the smallest priority; equal priorities go by number. A cycle is returned as by [Topological].
//
// Cost: O(m + n log w), w the greatest number of ready nodes.
func TopologicalBy(g *CSR, priority []int64) (order []int32, ok bool) {
	n := g.N()
	waits := indegrees(g)
	var ready heap.Heap[int64, int32]
	for v, w := range waits {
		if w == 0 {
			ready.Push(priority[v], int32(v))
		}
	}
	order = make([]int32, 0, n)
	for ready.Len() > 0 {
		_, u := ready.Pop()
		order = append(order, u)
		for _, v := range g.Succ(u) {
			if waits[v]--; waits[v] == 0 {
				ready.Push(priority[v], v)
			}
		}
	}
	return order, len(order) == n
}
