package acyclic

import (
	"slices"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/solver"
)

// PKOptions change how [PK] works, never its answers. The zero value is the default.
type PKOptions struct {
	// Propagate also propagates against undecided edges that a reordering found to close a cycle. It pays on inputs
	// with many conflicts and no answer.
	Propagate bool
	// NoDontCares makes the solver decide every variable, even where the order already obeys one side.
	NoDontCares bool
	// Phases gives an open variable whose both sides the order obeys the value of its phase.
	Phases bool
	// Positive has the variables to be completed as true if the order obeys their edges, which is right for variables
	// that clauses never want false; nil: none.
	Positive []bool
}

// PK keeps guarded edges acyclic by a topological order.
//
// Don't-cares: a side of a variable is obeyed if all its guarded edges go forward in the order. If each open variable
// has an obeyed side, giving it that side adds only forward edges, and the graph stays acyclic. So only variables
// without an obeyed side, the bad ones, are worth a decision; the others are made dormant
// ([solver.Solver.SetDecidable]). Whether a variable is bad depends on the order alone, so it changes when nodes move,
// not on backtracking.
//
// Invariant: back[l] is the number of l's edges that go backward.
type PK struct {
	theory
	ord  *order.Order
	opts PKOptions

	// Guards by node, as source and as target: one more than the newest guard; each guard links to the next older one.
	outHead, inHead graph.Sparse[int32]
	outNext, inNext []int32

	isBack  []bool // guard → its edge goes backward
	back    []int32
	stampOf graph.Sparse[uint32] // node → stamp, scratch of propagation
	epoch   uint32
	turned  int64 // guards whose direction was looked at

	// Nodes that moved, for Track: each once, as long as there are at most mostMoved.
	moved     []int32
	isMoved   []bool
	mostMoved int
}

// NewPK makes the theory of the guards for s and attaches it. ord holds the known edges; from here on only the theory
// may use it. After Sat, its Topological is an order of the model's graph. Edges added to ord before must have negative
// tags; they count as known.
func NewPK(s *solver.Solver, ord *order.Order, guards []Guard, opts PKOptions) *PK {
	t := &PK{ord: ord, opts: opts}
	t.init(s, pkGraph{t})
	s.SetTheory(t)
	t.Add(guards...)
	return t
}

// Add adds guards, between calls of Solve. Their variables must exist, and so must their nodes (order.Order.Grow). It
// returns nil or, if facts of level 0 already close a cycle with them, a clause that says so, which the caller must add
// to the solver.
//
// Cost: linear in the new guards.
func (t *PK) Add(guards ...Guard) (conflict []solver.Lit) {
	first := len(t.guards)
	t.outHead.Grow(t.ord.N())
	t.inHead.Grow(t.ord.N())
	t.stampOf.Grow(t.ord.N())
	for _, e := range guards {
		i := t.guard(e)
		for len(t.back) < len(t.head) {
			t.back = append(t.back, 0)
		}
		from, to := t.outHead.At(e.From), t.inHead.At(e.To)
		t.outNext, t.inNext = append(t.outNext, *from-1), append(t.inNext, *to-1)
		*from, *to = i+1, i+1
		b := !t.ord.Less(e.From, e.To)
		t.isBack = append(t.isBack, b)
		if b {
			t.back[e.Lit]++
		}
	}
	if !t.opts.NoDontCares {
		for _, e := range guards {
			t.s.SetDecidable(e.Lit.Var(), t.bad(e.Lit.Var()))
		}
	}
	return t.settle(first)
}

func (t *PK) bad(v solver.Var) bool {
	return t.back[solver.Pos(v)] > 0 && t.back[solver.Neg(v)] > 0
}

// Complete returns, for an open variable, a value whose edges the order obeys: false if possible, unless the variable
// is in Positive; with Phases, the value that the solver would try first. See solver.Completer.
func (t *PK) Complete(v solver.Var) bool {
	if t.back[solver.Neg(v)] > 0 {
		return true
	}
	return t.back[solver.Pos(v)] == 0 &&
		(t.opts.Phases && t.s.Phase(v) || int(v) < len(t.opts.Positive) && t.opts.Positive[v])
}

// Arrange replaces the order by another, between calls of Solve. The known edges, and the edges of literals true in the
// last model, must all go forward in it.
//
// Cost: linear in nodes and guards.
func (t *PK) Arrange(order []int32) {
	t.ord.Arrange(order)
	for i := range t.guards {
		t.turn(int32(i))
	}
}

// Track makes Moved record moved nodes from now on, up to most (0: stop recording).
//
// Cost: one flag per node.
func (t *PK) Track(most int) {
	for _, v := range t.moved {
		t.isMoved[v] = false
	}
	t.moved, t.mostMoved = t.moved[:0], most
	if most == 0 {
		t.isMoved = nil
		return
	}
	t.isMoved = slices.Grow(t.isMoved, t.ord.N()-len(t.isMoved))[:t.ord.N()]
}

// Moved returns the nodes that AddEdge has moved since Track was called, in any order, each once, even if they moved
// back. ok is false if there were more than Track allowed. The slice is valid until the next edge.
func (t *PK) Moved() (nodes []int32, ok bool) { return t.moved, len(t.moved) <= t.mostMoved }

func (t *PK) track(moved []int32) {
	if len(t.moved) > t.mostMoved {
		return
	}
	for _, v := range moved {
		if !t.isMoved[v] {
			t.isMoved[v] = true
			t.moved = append(t.moved, v)
		}
	}
}

// Propagate returns what the reorderings since the last call found. See solver.Theory.
func (t *PK) Propagate() []solver.Lit {
	out := t.out
	t.out = t.out[:0]
	return out
}

// Backtrack undoes levels. See solver.Theory.
func (t *PK) Backtrack(level int) {
	t.out = t.out[:0]
	t.theory.Backtrack(level)
}

// Work returns the number of nodes and guards looked at. See solver.Worker.
func (t *PK) Work() int64 { return int64(t.ord.Visited()) + t.turned }

// pkGraph is the order as the grapher of the shared part.
type pkGraph struct{ t *PK }

func (g pkGraph) mark() int  { return g.t.ord.Mark() }
func (g pkGraph) undo(m int) { g.t.ord.Undo(m) }

func (g pkGraph) add(u, v, tag int32) bool {
	t := g.t
	if t.ord.AddEdge(u, v, tag) {
		return true
	}
	if moved := t.ord.Moved(); len(moved) > 0 {
		t.retest(moved)
		if t.mostMoved > 0 {
			t.track(moved)
		}
		if t.opts.Propagate {
			t.findCycles()
		}
	}
	return false
}

func (g pkGraph) path(u, v int32, cost func(int32) int8, tags []int32) []int32 {
	p, ok := g.t.ord.Path(u, v, cost)
	if !ok {
		panic("acyclic: no path where the order found a cycle")
	}
	for _, e := range p {
		if e.Tag >= 0 {
			tags = append(tags, e.Tag)
		}
	}
	return tags
}

// retest counts the backward edges of the moved nodes again.
//
// Cost: their guards.
func (t *PK) retest(moved []int32) {
	for _, v := range moved {
		for i := t.outHead.Get(v) - 1; i >= 0; i = t.outNext[i] {
			t.turn(i)
		}
		for i := t.inHead.Get(v) - 1; i >= 0; i = t.inNext[i] {
			t.turn(i)
		}
	}
}

func (t *PK) turn(i int32) {
	t.turned++
	e := &t.guards[i]
	back := !t.ord.Less(e.From, e.To)
	if back == t.isBack[i] {
		return
	}
	t.isBack[i] = back
	d := int32(1)
	if !back {
		d = -1
	}
	t.back[e.Lit] += d
	if n := t.back[e.Lit]; !t.opts.NoDontCares && (n == 0 || n == 1 && back) {
		v := e.Lit.Var()
		t.s.SetDecidable(v, t.bad(v))
	}
}

// findCycles looks, after the edge u→v caused a reordering, for undecided edges from a node that v reaches to a node
// that reaches u: they would close a cycle. It looks at the guards of the smaller of the two sets.
func (t *PK) findCycles() {
	backward, forward := t.ord.Region()
	t.epoch++
	if t.epoch == 0 {
		t.stampOf.Clear()
		t.epoch = 1
	}
	if len(forward) <= len(backward) {
		for _, x := range backward {
			*t.stampOf.At(x) = t.epoch
		}
		for _, x := range forward {
			for i := t.outHead.Get(x) - 1; i >= 0; i = t.outNext[i] {
				if t.stampOf.Get(t.guards[i].To) == t.epoch {
					t.propagate(i)
				}
			}
		}
		return
	}
	for _, x := range forward {
		*t.stampOf.At(x) = t.epoch
	}
	for _, x := range backward {
		for i := t.inHead.Get(x) - 1; i >= 0; i = t.inNext[i] {
			if t.stampOf.Get(t.guards[i].From) == t.epoch {
				t.propagate(i)
			}
		}
	}
}
