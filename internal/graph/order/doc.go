// Package order maintains a topological order of a graph to which edges are added and from which they are removed in
// reverse order, as the acyclicity theory of a solver needs it.
//
// # Data
//
// An [Order] has a position for each node, an immutable base graph (the known edges, a [graph.CSR] in both directions)
// and a stack of dynamic edges. Each dynamic edge is in two linked lists, one of its source and one of its target. It
// is added at the head of both, so that undoing removes it from both heads.
//
//	Invariant: pos is a permutation and pos[u] < pos[v] for every edge u→v, base or dynamic.
//
// Undoing does not change positions: an order that is topological for a graph is topological for every subgraph, so
// that removing edges keeps the invariant. There is no other state.
//
// # Steps
//
// An edge that already goes forward costs one comparison. Otherwise [Order.AddEdge] searches forward from its target
// and backward from its source inside the affected region, the positions between the two (Pearce and Kelly), and
// redistributes the positions of the nodes found. If the forward search reaches the source, the edge would close a
// cycle; it is not added, and [Order.Path] explains why with as few tagged edges as possible.
//
// # Files
//
//   - order.go: the order, adding, undoing
//   - path.go: explanation by 0-1 breadth-first search
//
// Experimental: this package may still change.
package order
