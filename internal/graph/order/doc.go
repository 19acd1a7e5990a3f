// Package order keeps a topological order of a graph that grows by edges and shrinks by undoing
// them, last in first out: what a solver's acyclicity theory needs.
//
// # Data
//
// An [Order] has a position per node, an immutable base graph (the known edges, a [graph.CSR] in
// both directions) and a stack of dynamic edges on top, each in two linked lists, one of its source
// and one of its target. An edge is pushed at the head of both lists, so undoing pops it from both.
//
//	Invariant: pos is a permutation and pos[u] < pos[v] for every edge u→v, base or dynamic.
//
// Undoing never touches positions: an order that is topological for a graph is topological for
// every subgraph, so the invariant survives the removal of edges. Nothing else is kept.
//
// # Steps
//
// An edge that already goes forward is one comparison. Otherwise [Order.AddEdge] searches forward
// from its target and backward from its source inside the affected region, the positions between
// the two (Pearce and Kelly), and deals the positions found out again. If the forward search meets
// the source, the edge would close a cycle; it is not added, and [Order.Path] explains why with as
// few tagged edges as can be.
//
// # Files
//
//   - order.go: the order, adding, undoing
//   - path.go: explanation by 0-1 breadth-first search
//
// Experimental: this package may still change.
package order
