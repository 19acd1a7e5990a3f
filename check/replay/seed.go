package replay

import (
	"context"
	"errors"
	"slices"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/solver"
)

// seedOfNodes returns the transactions of a cycle of known edges, and the writers of the versions that its
// anti-dependencies overwrite.
func (e *engine) seedOfNodes(cycle []int32) []uint32 {
	var nodes []int32
	for _, x := range cycle {
		if e.si {
			if x < 2*int32(len(e.txn)) {
				nodes = append(nodes, x>>1)
			}
		} else if x < int32(len(e.txn)) {
			nodes = append(nodes, x)
		}
	}
	var seed []uint32
	v := e.v
	for i, u := range nodes {
		t := e.txn[u]
		seed = append(seed, t)
		next := e.txn[nodes[(i+1)%len(nodes)]]
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if a := v.RW[r]; a != none && v.WTxn[a] != none {
				for w := v.WOff[next]; w < v.WOff[next+1]; w++ {
					if v.WKey[w] == e.v.RKey[r] {
						seed = append(seed, v.WTxn[a])
					}
				}
			}
		}
	}
	return seed
}

// seedOfLemmas returns the transactions of a refutation's cycles.
func (e *engine) seedOfLemmas(ctx context.Context) ([]uint32, error) {
	core, selections, err := e.contradiction(ctx)
	if err != nil {
		return nil, err
	}
	known := graph.BuildFunc(e.total, e.certain)
	topo, ok := graph.Topological(known)
	if !ok {
		return nil, errors.New("replay: what is known closes a cycle that no lemma is about")
	}
	t := &tracer{e: e, ord: order.FromGraph(known, topo)}
	if err := t.lemmas(e, core, e.pk.Guards(), e.about); err != nil {
		return nil, err
	}
	// A selection is refuted for every candidate, so the explanation needs all the candidates' writers.
	for _, r := range selections {
		t.seed = append(e.preds.story(r, t.seed), e.txn[e.reader(r)])
		for _, w := range e.sel[r].cand {
			t.write(w)
		}
	}
	return t.result(), nil
}

// core returns lemmas that contradict the input clauses, and the ambiguous reads whose selections they contradict.
// Status Unsat is the normal result. Sat means that there is no contradiction, which is a fault of isovet; Unknown,
// that the context ended or the clauses are too large.
func (e *engine) core(ctx context.Context) (lemmas [][]solver.Lit, selections []uint32, status solver.Status) {
	s := solver.New(solver.Options{MaxArena: e.o.bounds.arena})
	s.NewVars(e.s.NumVars())
	var use []solver.Lit
	lemma, read := map[solver.Lit][]solver.Lit{}, map[solver.Lit]uint32{}
	guarded := func(c []solver.Lit) solver.Lit {
		on := solver.Pos(s.NewVar())
		use = append(use, on)
		s.AddClause(append(slices.Clone(c), on.Not())...)
		return on
	}
	for _, in := range e.log.inputs {
		if in.read == none {
			s.AddClause(in.lits...)
		} else {
			read[guarded(in.lits)] = in.read
		}
	}
	from := int32(0)
	for _, to := range e.log.off {
		c := e.log.lits[from:to]
		from = to
		lemma[guarded(c)] = c
	}
	if status = s.Solve(ctx, use...); status != solver.Unsat {
		return nil, nil, status
	}
	lemmas = [][]solver.Lit{}
	for _, l := range s.Failed() {
		if c, ok := lemma[l]; ok {
			lemmas = append(lemmas, c)
		}
		if r, ok := read[l]; ok {
			selections = append(selections, r)
		}
	}
	return lemmas, selections, status
}
