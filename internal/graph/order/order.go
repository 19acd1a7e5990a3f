package order

import (
	"fmt"
	"slices"

	"isovet/internal/graph"
)

// none ends a linked list.
const none = -1

// out and in are the latest dynamic edges from and to a node, or none.
func (o *Order) out(v int32) int32 { return o.outHead.Get(v) - 1 }
func (o *Order) in(v int32) int32  { return o.inHead.Get(v) - 1 }

// Order is an incremental topological order with undo. Only one goroutine may use it.
//
// Source:  Pearce and Kelly, A dynamic topological sort algorithm for directed acyclic graphs, ACM JEA 11 (2006).
// Differs: edges can be undone; positions then stay as they are (package comment).
type Order struct {
	pos  []int32 // Invariant: a permutation, and pos[u] < pos[v] for every edge u→v
	base *graph.CSR
	back *graph.CSR // base reversed

	edges   []edge              // in the order they were added
	outHead graph.Sparse[int32] // one more than the last dynamic edge leaving the node
	inHead  graph.Sparse[int32] // one more than the last dynamic edge entering the node

	// Scratch of AddEdge.
	seen     graph.Sparse[uint32]
	epoch    uint32
	forward  []int64 // pos<<32 | node, so that sorting needs no look-up
	backward []int64
	slots    []int32
	moved    []int32 // nodes given a new position by the last AddEdge: backward part, then forward part
	split    int     // where in moved the forward part begins
	stack    []int32

	search  pathSearch
	visited int
}

// edge is a dynamic edge. It is one struct instead of five arrays, since a search step reads next and one end together.
type edge struct {
	from, to        int32
	nextOut, nextIn int32 // the edge pushed before this one at the same source, target
	tag             int32
}

// New returns the order 0 … n−1 of n nodes without edges.
func New(n int) *Order {
	o := &Order{}
	o.Grow(n)
	return o
}

// FromTopological returns an order of n nodes without edges that begins with the given permutation.
func FromTopological(n int, order []int32) *Order {
	if len(order) != n {
		panic(fmt.Sprintf("order: %d nodes listed, want %d", len(order), n))
	}
	o := New(n)
	for i := range o.pos {
		o.pos[i] = none
	}
	for i, v := range order {
		if o.pos[v] != none {
			panic(fmt.Sprintf("order: node %d listed twice", v))
		}
		o.pos[v] = int32(i)
	}
	return o
}

// FromGraph returns an order over the edges of base, which must not change afterwards and can never be undone. topo is
// a topological order of it, as from graph.Topological or graph.TopologicalBy.
//
// Cost: O(n+m): base is reversed.
func FromGraph(base *graph.CSR, topo []int32) *Order {
	o := FromTopological(base.N(), topo)
	o.base, o.back = base, base.Reverse()
	return o
}

// Grow adds nodes without edges after the current ones, up to n nodes in all.
func (o *Order) Grow(n int) {
	o.pos = slices.Grow(o.pos, max(0, n-len(o.pos)))
	for v := len(o.pos); v < n; v++ {
		o.pos = append(o.pos, int32(v))
	}
	o.outHead.Grow(n)
	o.inHead.Grow(n)
	o.seen.Grow(n)
}

// N is the number of nodes.
func (o *Order) N() int { return len(o.pos) }

// Pos returns the current position of v, from 0 to N−1.
func (o *Order) Pos(v int32) int32 { return o.pos[v] }

// Less reports whether u precedes v.
func (o *Order) Less(u, v int32) bool { return o.pos[u] < o.pos[v] }

// Topological lists the nodes in their current order. Cost: O(n), one slice.
func (o *Order) Topological() []int32 {
	nodes := make([]int32, len(o.pos))
	for v, p := range o.pos {
		nodes[p] = int32(v)
	}
	return nodes
}

// Arrange changes the order to another one, which all current edges must obey. Cost: O(n).
func (o *Order) Arrange(order []int32) {
	if len(order) != len(o.pos) {
		panic(fmt.Sprintf("order: %d nodes listed, want %d", len(order), len(o.pos)))
	}
	for p, v := range order {
		o.pos[v] = int32(p)
	}
	o.moved, o.split = o.moved[:0], 0
}

// Visited returns how many nodes the searches of AddEdge and Path have visited so far.
func (o *Order) Visited() int { return o.visited }

// Mark returns the current number of edges, for Undo.
func (o *Order) Mark() int { return len(o.edges) }

// Undo removes the edges added since the mark, which stays valid. Positions stay.
//
// Cost: O(1) an edge.
func (o *Order) Undo(mark int) {
	if mark < 0 || mark > len(o.edges) {
		panic(fmt.Sprintf("order: undo to mark %d with %d edges", mark, len(o.edges)))
	}
	for i := len(o.edges) - 1; i >= mark; i-- {
		e := &o.edges[i]
		*o.outHead.At(e.from) = e.nextOut + 1
		*o.inHead.At(e.to) = e.nextIn + 1
	}
	o.edges = o.edges[:mark]
	o.moved, o.split = o.moved[:0], 0
}

// Edge returns the dynamic edge that was added when Mark was i.
func (o *Order) Edge(i int) Edge {
	e := o.edges[i]
	return Edge{e.from, e.to, e.tag}
}

// AddEdge adds u→v and reorders if necessary. If the edge would close a cycle (also a self-loop), it is not added,
// nothing changes, and cycle is true; Path(v, u, …) then returns the rest of the cycle. tag is the caller's name for
// the edge. Parallel edges stay.
//
// Cost: O(1) if u precedes v already. Otherwise O(δ log δ) in the nodes δ that reach u or are reached from v between
// the two positions, plus their edges.
func (o *Order) AddEdge(u, v, tag int32) (cycle bool) {
	o.moved, o.split = o.moved[:0], 0
	lower, upper := o.pos[v], o.pos[u]
	if upper >= lower {
		if u == v || o.searchForward(v, u, upper) {
			return true
		}
		o.searchBackward(u, lower)
		o.reorder()
	}
	id := int32(len(o.edges))
	o.edges = append(o.edges, edge{u, v, o.out(u), o.in(v), tag})
	*o.outHead.At(u), *o.inHead.At(v) = id+1, id+1
	return false
}

// nextEpoch clears the marks of visited nodes.
func (o *Order) nextEpoch() {
	o.epoch++
	if o.epoch == 0 {
		o.seen.Clear()
		o.epoch = 1
	}
}

func (o *Order) packed(v int32) int64 { return int64(o.pos[v])<<32 | int64(v) }

// searchForward collects the nodes that v reaches up to the position upper. It reports whether it reached goal.
func (o *Order) searchForward(v, goal, upper int32) bool {
	o.nextEpoch()
	o.forward = append(o.forward[:0], o.packed(v))
	*o.seen.At(v) = o.epoch
	stack := append(o.stack[:0], v)
	defer func() { o.stack = stack; o.visited += len(o.forward) }()
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if o.base != nil && int(x) < o.base.N() {
			for _, y := range o.base.Succ(x) {
				if y == goal {
					return true
				}
				if o.pos[y] < upper && o.seen.Get(y) != o.epoch {
					*o.seen.At(y) = o.epoch
					o.forward = append(o.forward, o.packed(y))
					stack = append(stack, y)
				}
			}
		}
		for i := o.out(x); i != none; i = o.edges[i].nextOut {
			y := o.edges[i].to
			if y == goal {
				return true
			}
			if o.pos[y] < upper && o.seen.Get(y) != o.epoch {
				*o.seen.At(y) = o.epoch
				o.forward = append(o.forward, o.packed(y))
				stack = append(stack, y)
			}
		}
	}
	return false
}

// searchBackward collects the nodes that reach u down to the position lower. No node is in both parts, since that
// would be a cycle, so that the marks of the forward search do not disturb.
func (o *Order) searchBackward(u, lower int32) {
	o.backward = append(o.backward[:0], o.packed(u))
	*o.seen.At(u) = o.epoch
	stack := append(o.stack[:0], u)
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if o.back != nil && int(x) < o.back.N() {
			for _, y := range o.back.Succ(x) {
				if o.pos[y] > lower && o.seen.Get(y) != o.epoch {
					*o.seen.At(y) = o.epoch
					o.backward = append(o.backward, o.packed(y))
					stack = append(stack, y)
				}
			}
		}
		for i := o.in(x); i != none; i = o.edges[i].nextIn {
			y := o.edges[i].from
			if o.pos[y] > lower && o.seen.Get(y) != o.epoch {
				*o.seen.At(y) = o.epoch
				o.backward = append(o.backward, o.packed(y))
				stack = append(stack, y)
			}
		}
	}
	o.stack = stack
	o.visited += len(o.backward)
}

// reorder redistributes the positions of both parts: first the backward part, then the forward part, each in its old
// order.
func (o *Order) reorder() {
	slices.Sort(o.backward)
	slices.Sort(o.forward)
	slots := o.slots[:0]
	b, f := o.backward, o.forward
	for len(b) > 0 && len(f) > 0 {
		if b[0] < f[0] {
			slots, b = append(slots, int32(b[0]>>32)), b[1:]
		} else {
			slots, f = append(slots, int32(f[0]>>32)), f[1:]
		}
	}
	for _, p := range b {
		slots = append(slots, int32(p>>32))
	}
	for _, p := range f {
		slots = append(slots, int32(p>>32))
	}
	for i, p := range o.backward {
		o.pos[int32(p)] = slots[i]
		o.moved = append(o.moved, int32(p))
	}
	o.split = len(o.backward)
	for i, p := range o.forward {
		o.pos[int32(p)] = slots[o.split+i]
		o.moved = append(o.moved, int32(p))
	}
	o.slots = slots
}

// Moved lists the nodes to which the last AddEdge gave a new position, in their new order. It is empty if the edge
// went forward already or was refused. The slice is valid until the next AddEdge or Undo.
func (o *Order) Moved() []int32 { return o.moved }

// Region splits Moved: every node of backward reaches the source of the last edge, and its target reaches every node
// of forward. So each undecided edge from forward to backward would close a cycle.
func (o *Order) Region() (backward, forward []int32) { return o.moved[:o.split], o.moved[o.split:] }
