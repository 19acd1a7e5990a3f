// Package graph has directed graphs on nodes 0, 1, 2, … (int32) and linear algorithms without search over alternatives:
// topological order, components, cycles, shortest paths, and the test of a graph against a time window for each node.
//
// # Data
//
// A graph is a [CSR]: the successors of v are Adj[Off[v]:Off[v+1]], in the order in which the edges were given. It is
// immutable. An edge is identified by its slot, its index in Adj. Callers that label edges have an array beside Adj
// ([BuildIndexed] says which given edge is in which slot, [CSR.ReverseIndexed] from which slot a reversed edge came).
//
// # Files
//
//   - csr.go: building and reversing
//   - sort.go: stable linear sort of indices by an int64 key
//   - topological.go: Kahn's algorithm, plain and by priority
//   - components.go: strongly connected components
//   - cycle.go: some cycle, a shortest cycle
//   - search.go: [Searcher], breadth-first searches on reused memory
//   - windows.go: the time lemma, real-time order without its edges
//   - timechain.go: real-time order with O(n) edges, for algorithms that must see edges
//
// A node outside 0 ≤ v < N is a caller's fault and panics.
//
// Experimental: this package may still change.
package graph
