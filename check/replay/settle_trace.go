package replay

import (
	"context"
	"errors"
	"slices"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
)

// seed returns the transactions of a contradiction that settling found. Cost: a search for each finding of the
// refutation, between its positions.
func (s *settling) seed() ([]uint32, error) {
	last := len(s.found) // these findings alone close no cycle
	if s.none == 0 {
		last = int(s.found[len(s.found)-1].mark)
	}
	t, err := s.tracer(last)
	if err != nil {
		return nil, err
	}
	if s.none > 0 {
		t.read(s.e.v.Amb[s.none-1], int32(len(s.found)))
		return t.back()
	}
	for i := last; i < len(s.found); i++ {
		if t.add(i) {
			t.need[i] = true
			if err := t.path(s.found[i].To, s.found[i].From); err != nil {
				return nil, err
			}
			return t.back()
		}
	}
	return nil, errors.New("replay: a fault of isovet: its findings were to make a cycle, and make none")
}

// seedOfLemmas returns the transactions of a refutation by x, the engine that ran after settling.
func (s *settling) seedOfLemmas(ctx context.Context, x *engine) ([]uint32, error) {
	core, selections, err := x.contradiction(ctx)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	t, err := s.tracer(len(s.found))
	if err != nil {
		return nil, err
	}
	t.saw = t.settled
	if err := t.lemmas(x, core, x.pk.Guards(), x.about); err != nil {
		return nil, err
	}
	for _, q := range selections {
		t.read(q, int32(len(s.found)))
		t.seed = append(t.seed, s.e.txn[s.e.reader(q)])
		for _, w := range x.sel[q].cand {
			t.write(w)
		}
	}
	return t.back()
}

// settleTracer traces findings back to known edges.
type settleTracer struct {
	tracer
	s    *settling
	upto []int32 // finding → edges among those before it
}

// tracer returns a tracer whose order has the known edges and those of the first findings.
func (s *settling) tracer(first int) (*settleTracer, error) {
	total := s.base.N()
	each := func(emit func(u, v int32)) {
		for u := range int32(total) {
			for _, v := range s.base.Succ(u) {
				emit(u, v)
			}
		}
	}
	topo, ok := graph.Topological(graph.BuildFunc(total, func(emit func(u, v int32)) {
		each(emit)
		for _, f := range s.found[:first] {
			if f.From >= 0 {
				emit(f.From, f.To)
			}
		}
	}))
	if !ok {
		return nil, errors.New("replay: findings before the last ones close a cycle")
	}
	t := &settleTracer{s: s, upto: make([]int32, len(s.found)+1)}
	t.tracer = tracer{e: s.e, ord: order.FromGraph(graph.BuildFunc(total, each), topo), need: make([]bool,
		len(s.found))}
	for i, f := range s.found {
		t.upto[i+1] = t.upto[i]
		if f.From >= 0 {
			t.upto[i+1]++
		}
	}
	for i := range s.found[:first] {
		t.add(i)
	}
	return t, nil
}

// add adds a finding's edge, if it has one.
func (t *settleTracer) add(i int) (cycle bool) {
	f := &t.s.found[i]
	return f.From >= 0 && t.ord.AddEdge(f.From, f.To, int32(i))
}

// read marks the findings that dropped candidates of ambiguous read q before a finding as needed.
func (t *settleTracer) read(q uint32, before int32) {
	e := t.s.e
	j, ok := slices.BinarySearch(e.v.Amb, q)
	if !ok {
		return
	}
	for c := e.v.CandOff[j]; c < e.v.CandOff[j+1]; c++ {
		t.write(e.v.Cand[c])
		if f := t.s.gone[c]; f > 0 && f <= before {
			t.need[f-1] = true
		}
	}
	t.seed = append(t.seed, e.txn[t.s.reader[j]])
}

// settled calls read for the reads of a node's transaction that settling left only write w. An edge from it to a later
// writer depends on the candidates that were dropped.
func (t *settleTracer) settled(node int32, w uint32) {
	e := t.s.e
	if int(node) >= e.events() {
		return
	}
	v, x := e.v, e.txn[e.nodeOf(node)]
	for q := v.ROff[x]; q < v.ROff[x+1]; q++ {
		if v.RW[q] == none && t.s.rw[q] == w {
			t.read(q, int32(len(t.s.found)))
		}
	}
}

// back explains all needed findings, the last first, and returns all transactions named.
func (t *settleTracer) back() ([]uint32, error) {
	for i := len(t.need) - 1; i >= 0; i-- {
		if !t.need[i] {
			continue
		}
		f := &t.s.found[i]
		if to := int(t.upto[f.mark]); to < t.ord.Mark() {
			t.ord.Undo(to)
		}
		if err := t.finding(f, int32(i)); err != nil {
			return nil, err
		}
	}
	return t.result(), nil
}

// finding marks what finding i follows from as needed.
func (t *settleTracer) finding(f *finding, i int32) error {
	e := t.s.e
	for _, x := range []int32{f.a, f.b} {
		if x >= 0 {
			t.seed = append(t.seed, e.txn[x])
		}
	}
	r := int32(-1)
	if f.read != none {
		r = e.node[e.v.Reader(f.read)]
		t.seed = append(t.seed, e.txn[r])
		t.read(f.read, i)
	}
	var paths [][2]int32
	switch f.rule {
	case isBefore:
		paths = append(paths, [2]int32{e.commit(f.b), e.begin(r)})
	case isAfter:
		if f.a >= 0 {
			paths = append(paths, [2]int32{e.commit(f.a), e.begin(f.b)})
		}
	case overwrites:
		paths = append(paths, [2]int32{e.begin(f.a), e.commit(f.b)})
	case notLater:
		paths = append(paths, [2]int32{e.begin(r), e.commit(f.a)})
	case notOld:
		if f.a >= 0 {
			paths = append(paths, [2]int32{e.commit(f.a), e.begin(f.b)})
		}
		paths = append(paths, [2]int32{e.commit(f.b), e.begin(r)})
	case afterAny, beforeAny:
		j, _ := slices.BinarySearch(e.v.Amb, f.read)
		for c := e.v.CandOff[j]; c < e.v.CandOff[j+1]; c++ {
			a := e.writer(e.v.Cand[c])
			if g := t.s.gone[c]; g > 0 && g <= i || a < 0 {
				continue
			}
			if f.rule == afterAny {
				paths = append(paths, [2]int32{f.From, e.commit(a)})
			} else {
				paths = append(paths, [2]int32{e.commit(a), e.begin(f.b)})
			}
		}
	}
	return slice.Each(paths, func(p [2]int32) error { return t.path(p[0], p[1]) })
}
