// Package graph holds directed graphs on dense int32 nodes and the linear algorithms that need no
// search over alternatives: topological order, components, cycles, shortest paths, and the test of
// a graph against a time window per node.
//
// # Data
//
// A graph is a [CSR]: the successors of v are Adj[Off[v]:Off[v+1]], in the order the edges were
// given. It is immutable once built. An edge is named by its slot, its index in Adj; callers that
// label edges keep one array beside Adj ([BuildIndexed] says which given edge went to which slot,
// [CSR.ReverseIndexed] which slot a reversed edge came from).
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
// Node ids outside 0 ≤ v < N are a caller's bug and panic by index.
//
// Experimental: this package may still change.
package graph
