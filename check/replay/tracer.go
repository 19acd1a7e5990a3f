package replay

import (
	"context"
	"errors"
	"slices"

	"isovet/internal/graph/order"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// tracer collects the transactions that a refutation needs, by following paths back. The tags of its order are
// findings: facts of saturation, or of settling.
type tracer struct {
	e    *engine
	ord  *order.Order
	need []bool // findings to be explained
	seed []uint32
	// saw, if not nil, records why a node's transaction read write w, if other writes could explain the read.
	saw func(node int32, w uint32)
}

func (t *tracer) write(w uint32) {
	if x := t.e.v.WTxn[w]; x != none {
		t.seed = append(t.seed, x)
	}
}

// path adds what a path from u to v depends on. It has no guards.
func (t *tracer) path(u, v int32) error {
	path, ok := t.ord.Path(u, v, nil)
	if !ok {
		return errors.New("replay: nothing is found that a finding follows from")
	}
	t.walk(u, path, nil)
	return nil
}

// walk adds what the edges of a path from u depend on, and calls guard for a theory's guards.
func (t *tracer) walk(u int32, path []order.Edge, guard func(i int32)) {
	nodes := []int32{u}
	for _, s := range path {
		nodes = append(nodes, s.To)
		switch {
		case s.Tag == order.Static:
		case s.Tag >= 0:
			t.need[s.Tag] = true
		default:
			guard(-1 - s.Tag)
		}
	}
	t.seed = append(t.seed, t.e.seedOfNodes(nodes)...)
}

// lemmas adds the cycles behind clauses of x's theory. about says which writes each guard orders.
func (t *tracer) lemmas(x *engine, core [][]solver.Lit, guards []acyclic.Guard, about []about) error {
	lemmas := acyclic.NewLemmas(guards, x.s.NumVars())
	note := func(i int32) {
		t.seed = x.preds.story(about[i].read, t.seed)
		t.write(about[i].a)
		t.write(about[i].b)
		if t.saw != nil {
			t.saw(guards[i].From, about[i].a)
		}
	}
	for _, c := range core {
		i, path, ok := lemmas.Cycle(t.ord, c)
		if !ok {
			return errors.New("replay: a theory lemma has no cycle")
		}
		note(i)
		t.walk(guards[i].To, path, note)
	}
	return nil
}

// result returns the collected transactions.
func (t *tracer) result() []uint32 {
	slices.Sort(t.seed)
	return slices.Compact(t.seed)
}

// contradiction calls core where the lemmas must contradict each other. It returns nothing if the context ended.
func (e *engine) contradiction(ctx context.Context) (lemmas [][]solver.Lit, selections []uint32, err error) {
	lemmas, selections, status := e.core(ctx)
	switch {
	case status == solver.Sat:
		return nil, nil, errors.New("replay: the refutation's lemmas do not contradict each other")
	case status == solver.Unknown && ctx.Err() != nil:
		return nil, nil, nil
	case status == solver.Unknown:
		return nil, nil, ErrNoRoom
	}
	return lemmas, selections, nil
}
