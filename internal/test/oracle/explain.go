package oracle

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
)

// A lit is a variable's number from 1, negative for its negation.
type lit int

// arc is an edge that is there if all of needs hold.
type arc struct {
	evidence.Edge
	needs []lit
}

// explainer is the second implementation: the direct serialization graph (Adya 1999; for snapshot isolation, with begin
// and commit nodes, the paper on BC-graphs, Def. 7) of every world. A world is an order for each two writers of a key,
// a writer for each read that may have several, and a subset of the unknown outcomes. Worlds are not listed but
// excluded: take one that no cycle found so far excludes, find a cycle in its graph, and exclude all worlds that have
// this cycle, until a graph has none or no world is left.
type explainer struct {
	*world
	r     *reads
	txnOf map[uint32]int // transaction → index in txns
	arcs  []arc
	base  [][]lit // what every world satisfies
	n     lit     // variables so far
	pair  map[[2]uint32]lit
	count map[uint32]lit
}

// explain returns the anomalies of a violation, or none. It is not decided where list elements are ambiguous, or where
// a violation rests on several unknown outcomes in a way that no list of cycles says.
func (w *world) explain() (found []evidence.Anomaly, decided bool) {
	x := &explainer{world: w, r: newReads(w.h), txnOf: map[uint32]int{}, pair: map[[2]uint32]lit{},
		count: map[uint32]lit{}}
	if x.r.ambiguous {
		return nil, false
	}
	bad := map[uint32]evidence.Anomaly{} // of unknown outcome, and cannot have committed
	for i, t := range w.txns {
		x.txnOf[t.id] = i
		a := x.r.scan(t.id)
		switch {
		case a == nil:
		case t.sure:
			found = append(found, *a)
		default:
			bad[t.id] = *a
		}
	}
	if len(found) > 0 {
		return found, true
	}
	x.build(bad)
	x.settle()
	// A transaction that cannot have committed and was read all the same.
	facts, _ := propagate(x.n, x.base)
	var not [][]lit
	for _, t := range w.txns {
		a, is := bad[t.id]
		if !is {
			continue
		}
		c := x.counts(t.id)[0]
		if facts[c] {
			found = append(found, a)
		}
		not = append(not, []lit{-c})
	}
	if len(found) > 0 {
		return found, true
	}
	x.base = append(x.base, not...)
	var cycles [][]evidence.Edge
	var clauses [][]lit
	if solve(x.n, x.base) == nil {
		return nil, false
	}
	for {
		model := solve(x.n, append(slices.Clone(x.base), clauses...))
		if model == nil {
			break
		}
		c := x.cycle(model)
		if c == nil {
			return nil, true
		}
		var clause []lit
		var edges []evidence.Edge
		for _, a := range c {
			edges = append(edges, a.Edge)
			for _, l := range a.needs {
				if !slices.Contains(clause, -l) {
					clause = append(clause, -l)
				}
			}
		}
		cycles = append(cycles, edges)
		clauses = append(clauses, clause)
	}
	x.base = x.base[:len(x.base)-len(not)]
	if solve(x.n, append(slices.Clone(x.base), clauses...)) != nil {
		return nil, false
	}
	a := x.arrange(cycles, clauses)
	a.Complete(w.h, w.o.Level, w.o.ClockSkew)
	return []evidence.Anomaly{a}, true
}

// arrange leaves out every cycle that is not needed and makes Cycle of one whose assumptions the others force, if there
// is one.
func (x *explainer) arrange(cycles [][]evidence.Edge, clauses [][]lit) evidence.Anomaly {
	for i := 0; i < len(clauses); {
		rest := slices.Delete(slices.Clone(clauses), i, i+1)
		if solve(x.n, append(slices.Clone(x.base), rest...)) == nil {
			clauses = rest
			cycles = slices.Delete(cycles, i, i+1)
		} else {
			i++
		}
	}
	for i, c := range clauses {
		rest := slices.Delete(slices.Clone(clauses), i, i+1)
		facts, _ := propagate(x.n, append(slices.Clone(x.base), rest...))
		forced := true
		for _, l := range c {
			forced = forced && facts[-l]
		}
		if forced {
			a := evidence.Anomaly{Cycle: cycles[i]}
			if others := slices.Delete(slices.Clone(cycles), i, i+1); len(others) > 0 {
				a.Cycles = others
			}
			return a
		}
	}
	return evidence.Anomaly{Cycles: cycles}
}

// before is the literal "a's versions come before b's".
func (x *explainer) before(a, b uint32) lit {
	if a > b {
		return -x.before(b, a)
	}
	l, ok := x.pair[[2]uint32{a, b}]
	if !ok {
		x.n++
		l = x.n
		x.pair[[2]uint32{a, b}] = l
	}
	return l
}

// counts are the literals that say that the transactions count as committed.
func (x *explainer) counts(ts ...uint32) []lit {
	var out []lit
	for _, t := range ts {
		if t == x.h.Init || x.txns[x.txnOf[t]].sure {
			continue
		}
		l, ok := x.count[t]
		if !ok {
			x.n++
			l = x.n
			x.count[t] = l
		}
		out = append(out, l)
	}
	return out
}

func (x *explainer) arc(e evidence.Edge, needs ...lit) {
	x.arcs = append(x.arcs, arc{e, append(needs, x.counts(e.From, e.To)...)})
}

// build makes every edge that some world has.
func (x *explainer) build(bad map[uint32]evidence.Anomaly) {
	h := x.h
	final := map[uint32]map[uint32]uint32{} // key → writer → the version it installs
	for _, t := range x.txns {
		lo, hi := h.TxnOps(t.id)
		for op := lo; op < hi; op++ {
			if k := h.Ops.Kind[op]; k == history.Write || k == history.Append {
				key := h.OpKey(op)
				if final[key] == nil {
					final[key] = map[uint32]uint32{}
				}
				final[key][t.id] = h.Ops.Ver[op]
			}
		}
	}
	x.orders(final)
	for _, t := range x.txns {
		r := t.id
		if _, is := bad[r]; is {
			continue
		}
		for k := range uint32(h.NumKeys()) {
			if v, ok := x.r.external[r][k]; ok {
				x.registerRead(r, k, v, x.r.candidates(r, k, v), final[k])
			}
			if seen, ok := x.r.lists[r][k]; ok {
				x.listRead(r, k, seen, final[k])
			}
		}
	}
}

// orders adds the edges of session order, of real time, and of the orders of each two writers of a key.
func (x *explainer) orders(final map[uint32]map[uint32]uint32) {
	none := history.None
	for i, a := range x.txns {
		for j, b := range x.txns {
			if x.sessionBefore(i, j) {
				x.arc(evidence.Edge{From: a.id, To: b.id, Dep: evidence.SO, Key: none, Ver: none, Writer: none})
			}
			if x.timeBefore(i, j) {
				x.arc(evidence.Edge{From: a.id, To: b.id, Dep: evidence.RT, Key: none, Ver: none, Writer: none})
			}
			for k := range uint32(x.h.NumKeys()) {
				v, ok := final[k][b.id]
				if _, both := final[k][a.id]; i != j && ok && both {
					x.arc(evidence.Edge{From: a.id, To: b.id, Dep: evidence.WW, Key: k, Ver: v, Writer: none},
						x.before(a.id, b.id))
				}
			}
		}
	}
}

// settle takes the order of two writers of a key from the history where an edge between them settles it, so that no
// cycle is needed to say so. Pairs that are settled both ways are left to the cycle that they are.
func (x *explainer) settle() {
	both := map[[2]uint32]bool{}
	for _, a := range x.arcs {
		both[[2]uint32{a.From, a.To}] = both[[2]uint32{a.From, a.To}] || x.settles(a)
	}
	for _, a := range x.arcs {
		_, pair := x.pair[[2]uint32{min(a.From, a.To), max(a.From, a.To)}]
		if pair && x.settles(a) && !both[[2]uint32{a.To, a.From}] {
			clause := []lit{x.before(a.From, a.To)}
			for _, l := range a.needs {
				clause = append(clause, -l)
			}
			x.base = append(x.base, clause)
		}
	}
}

// settles reports whether an edge says which of its transactions comes first without assuming it.
func (x *explainer) settles(a arc) bool {
	return a.Dep == evidence.SO || a.Dep == evidence.RT || a.Dep == evidence.WR
}

// registerRead adds the edges of r's read of k: it is from one of the transactions from, h.Init for the initial
// version. final are the versions that each writer of k installs, v the version read, for the edges' sake.
func (x *explainer) registerRead(r, k, v uint32, from []uint32, final map[uint32]uint32) {
	h := x.h
	var oneOf []lit
	for _, c := range x.counts(r) {
		oneOf = append(oneOf, -c)
	}
	for _, w := range from {
		var is []lit
		if len(from) > 1 {
			x.n++
			is = []lit{x.n}
			oneOf = append(oneOf, x.n)
		}
		if w != h.Init {
			for _, c := range x.counts(w) {
				clause := []lit{c}
				for _, l := range append(x.counts(r), is...) {
					clause = append(clause, -l)
				}
				x.base = append(x.base, clause)
			}
			x.arc(evidence.Edge{From: w, To: r, Dep: evidence.WR, Key: k, Ver: v, Writer: history.None},
				slices.Clone(is)...)
		}
		for _, t := range x.txns {
			u := t.id
			if _, writes := final[u]; !writes || u == r || u == w {
				continue
			}
			needs := slices.Clone(is)
			if w != h.Init {
				needs = append(needs, x.before(w, u))
			}
			x.arc(evidence.Edge{From: r, To: u, Dep: evidence.RW, Key: k, Ver: v, Writer: w}, needs...)
		}
	}
	if len(from) > 1 {
		x.base = append(x.base, oneOf)
	}
}

// listRead adds the edges of a list read, which all hold without assumption: who is in the list came before r, in the
// list's order, and who is not came after r and after those in it.
func (x *explainer) listRead(r, k uint32, seen []uint32, final map[uint32]uint32) {
	h := x.h
	last, writer := history.None, h.Init
	var in []uint32
	for _, e := range seen {
		last = e
		w := x.r.writes[e][0].txn
		for _, c := range x.r.writes[e] {
			if h.Txns.Status[c.txn] != history.Aborted {
				w = c.txn
			}
		}
		writer = w
		if w != h.Init && !slices.Contains(in, w) {
			in = append(in, w)
		}
	}
	for i, w := range in {
		for _, c := range x.counts(w) {
			clause := []lit{c}
			for _, l := range x.counts(r) {
				clause = append(clause, -l)
			}
			x.base = append(x.base, clause)
		}
		x.arc(evidence.Edge{From: w, To: r, Dep: evidence.WR, Key: k, Ver: final[w], Writer: history.None})
		for _, u := range in[i+1:] {
			x.arc(evidence.Edge{From: w, To: u, Dep: evidence.WW, Key: k, Ver: final[u], Writer: history.None},
				x.counts(r)...)
		}
		for _, t := range x.txns {
			u := t.id
			if v, writes := final[u]; writes && !slices.Contains(in, u) {
				x.arc(evidence.Edge{From: w, To: u, Dep: evidence.WW, Key: k, Ver: v, Writer: history.None},
					x.counts(r)...)
			}
		}
	}
	for _, t := range x.txns {
		u := t.id
		if _, writes := final[u]; writes && u != r && !slices.Contains(in, u) {
			x.arc(evidence.Edge{From: r, To: u, Dep: evidence.RW, Key: k, Ver: last, Writer: writer})
		}
	}
}
