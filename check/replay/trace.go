package replay

import (
	"context"
	"errors"
	"slices"

	"isovet/graph"
	"isovet/graph/order"
	"isovet/solver"
)

// trace returns the transactions that a refutation after saturation rests on: those of the cycle that the last batch of facts closed,
// or, with d, of the cycles that contradict each other; and, for each fact in them, those of what it follows from.
// Cost: a search for each lemma and fact of the refutation, between the positions that it spans.
func (e *engine) trace(ctx context.Context, sat *saturation, d *dense) ([]uint32, error) {
	n := len(sat.facts)
	if d == nil {
		n = int(sat.batch[len(sat.batch)-1])
	}
	topo, ok := graph.TopologicalBy(graph.BuildFunc(e.total, func(emit func(u, v int32)) {
		e.certain(emit)
		for _, f := range sat.facts[:n] {
			emit(f.From, f.To)
		}
	}), sat.rank)
	if !ok {
		return nil, errors.New("replay: a batch of facts before the last one closes a cycle")
	}
	t := &tracer{e: e, d: d, facts: len(sat.facts), need: make([]bool, len(sat.facts))}
	t.ord = order.FromGraph(graph.BuildFunc(e.total, e.certain), topo)
	for i, f := range sat.facts[:n] {
		t.ord.AddEdge(f.From, f.To, int32(i))
	}
	if d == nil {
		for i, f := range sat.facts[n:] {
			if t.ord.AddEdge(f.From, f.To, int32(n+i)) {
				t.need[n+i] = true
				t.path(f.To, f.From)
				break
			}
		}
	} else if err := t.lemmas(ctx); err != nil {
		return nil, err
	}
	at := len(sat.batch) - 1
	for i := len(sat.facts) - 1; i >= 0; i-- {
		for int(sat.batch[at]) > i {
			at--
		}
		if !t.need[i] {
			continue
		}
		t.ord.Undo(int(sat.batch[at]))
		f := sat.facts[i]
		for _, x := range []int32{f.a, f.b, f.r} {
			if x >= 0 {
				t.seed = append(t.seed, e.txn[x])
			}
		}
		if f.from >= 0 && !t.path(f.from, f.to) {
			return nil, errors.New("replay: nothing is found that a fact of saturation follows from")
		}
	}
	slices.Sort(t.seed)
	return slices.Compact(t.seed), nil
}

// tracer follows edges back. Tags of its order are facts, and behind them the guards of d.
type tracer struct {
	e     *engine
	d     *dense
	ord   *order.Order
	facts int
	need  []bool // facts to be explained
	seed  []uint32
}

// path notes what a path from u to v rests on; it is false if there is none.
func (t *tracer) path(u, v int32) bool {
	path, ok := t.ord.Path(u, v, func(int32) int8 { return 1 })
	if !ok {
		return false
	}
	nodes := []int32{u}
	for _, s := range path {
		nodes = append(nodes, s.To)
		switch {
		case s.Tag == order.Static:
		case int(s.Tag) < t.facts:
			t.need[s.Tag] = true
		default:
			t.guard(int(s.Tag) - t.facts)
		}
	}
	t.seed = append(t.seed, t.e.seedOfNodes(nodes)...)
	return true
}

func (t *tracer) guard(g int) {
	for _, w := range []uint32{t.d.about[g].a, t.d.about[g].b} {
		if x := t.e.v.WTxn[w]; x != none {
			t.seed = append(t.seed, x)
		}
	}
}

// lemmas notes what cycles contradict each other.
func (t *tracer) lemmas(ctx context.Context) error {
	search := &engine{s: t.d.s, log: t.d.log, o: t.e.o}
	core, _, status := search.core(ctx)
	switch {
	case status == solver.Sat:
		return errors.New("replay: the lemmas about all open choices do not contradict each other")
	case status == solver.Unknown && ctx.Err() != nil:
		return ctx.Err()
	case status == solver.Unknown:
		return ErrNoRoom
	}
	byLit := make([][]int32, 2*t.d.s.NumVars())
	for i, g := range t.d.guards {
		byLit[g.Lit] = append(byLit[g.Lit], int32(i))
	}
	for _, c := range core {
		if !t.lemma(c, byLit) {
			return errors.New("replay: a lemma about all open choices has no cycle")
		}
	}
	return nil
}

// lemma notes the cycle that the edges of a clause's literals close.
func (t *tracer) lemma(c []solver.Lit, byLit [][]int32) bool {
	mark := t.ord.Mark()
	defer t.ord.Undo(mark)
	for _, l := range c {
		for _, i := range byLit[l.Not()] {
			g := t.d.guards[i]
			if t.ord.AddEdge(g.From, g.To, int32(t.facts)+i) {
				t.guard(int(i))
				return t.path(g.To, g.From)
			}
		}
	}
	return false
}
