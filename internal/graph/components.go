package graph

import "slices"

// Components finds the strongly connected components: comp[v] is the component of v, count their number. Components are
// numbered in topological order: an edge between components goes from the smaller number to the larger.
//
// Source: Tarjan, Depth-first search and linear graph algorithms (1972), with an explicit stack.
// Cost:   O(n+m), 20 bytes a node.
func Components(g *CSR) (comp []int32, count int) {
	n := int32(g.N())
	const open = -1
	comp = slices.Repeat([]int32{open}, int(n)) // open until the component is complete
	var (
		number = make([]int32, n) // 1 + place in visiting order, 0 = not visited
		low    = make([]int32, n) // smallest number known to be in the same component
		next   = make([]uint32, n)
		path   []int32 // the depth-first path
		stack  []int32 // visited nodes whose component is open
		clock  int32
	)
	for root := range n {
		if number[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			u := path[len(path)-1]
			if number[u] == 0 {
				clock++
				number[u], low[u] = clock, clock
				next[u] = g.Off[u]
				stack = append(stack, u)
			}
			descended := false
			for next[u] < g.Off[u+1] {
				v := g.Adj[next[u]]
				if number[v] == 0 {
					path = append(path, v) // next[u] stays, so that v's low is taken over on return
					descended = true
					break
				}
				next[u]++
				if comp[v] == open {
					low[u] = min(low[u], low[v])
				}
			}
			if descended {
				continue
			}
			path = path[:len(path)-1]
			if low[u] != number[u] {
				continue
			}
			for {
				v := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				comp[v] = int32(count)
				if v == u {
					break
				}
			}
			count++
		}
	}
	// Tarjan completes sinks first.
	for v := range comp {
		comp[v] = int32(count) - 1 - comp[v]
	}
	return comp, count
}
