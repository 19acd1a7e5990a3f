package replay

import (
	"context"
	"errors"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
)

// trace returns the transactions that a refutation after saturation needs: those of the cycle that the last batch of
// facts closed or, with d, of the cycles that contradict each other; and, for each fact in these cycles, the
// transactions that the fact follows from. Cost: a search for each lemma and fact of the refutation, between its
// positions.
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
	t := &tracer{e: e, ord: order.FromGraph(graph.BuildFunc(e.total, e.certain), topo), need: make([]bool,
		len(sat.facts))}
	for i, f := range sat.facts[:n] {
		t.ord.AddEdge(f.From, f.To, int32(i))
	}
	if d == nil {
		for i, f := range sat.facts[n:] {
			if t.ord.AddEdge(f.From, f.To, int32(n+i)) {
				t.need[n+i] = true
				if err := t.path(f.To, f.From); err != nil {
					return nil, err
				}
				break
			}
		}
	} else {
		search := &engine{s: d.s, log: d.log, o: e.o}
		core, _, err := search.contradiction(ctx)
		if err == nil {
			err = t.lemmas(search, core, d.guards, d.about)
		}
		if err != nil {
			return nil, err
		}
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
		if f.from >= 0 {
			if err := t.path(f.from, f.to); err != nil {
				return nil, err
			}
		}
	}
	return t.result(), nil
}
