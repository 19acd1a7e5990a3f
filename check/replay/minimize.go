package replay

import (
	"context"
	"slices"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// Minimize returns a minimal set of transactions of a small view that violate the level by themselves, or none if the
// view satisfies the level. The result is the same as from dropping transactions one by one and refuting the rest
// again, but it takes one search: each transaction has an assumption, and learned clauses stay. A dropped transaction
// remains as a node without reads and writes, so that session order and real time need no assumption.
//
// Which transactions of unknown outcome count is decided by the whole view. If the answer lacks the reader that shows
// it, it may not violate the level by itself. Nor may it if a cycle leads through a dropped transaction, which it only
// needs where session order contradicts times or times are missing. Cost: one search for each transaction of the first
// core found; clauses are reads times writers of their keys.
func Minimize(ctx context.Context, v *prepass.View, l level.Level, skew int64) ([]uint32, error) {
	e := &engine{v: v, h: v.H, o: Options{Level: l, Skew: skew}, si: l.Snapshot(), sessions: l.Sessions()}
	e.number()
	m := &minimizer{engine: e, s: solver.New(solver.Options{}), arcs: make(map[[2]int32]solver.Lit)}
	nodes := len(e.txn)
	if e.si {
		nodes *= 2
	}
	m.ord = order.New(nodes)
	if m.ordered() {
		return nil, nil // session order and real time contradict each other: a cycle of known edges is proof enough
	}
	m.in = m.s.NewVars(len(e.txn))
	e.s = m.s
	e.openOutcomes()
	m.writes = e.byKey(e.laterWrites())
	m.reads()
	if e.si {
		m.commits()
	}
	pk := acyclic.NewPK(m.s, m.ord, nil, acyclic.PKOptions{NoDontCares: true})
	if c := pk.Add(e.guards...); c != nil {
		m.s.AddClause(c...)
	}
	live := make([]solver.Lit, len(e.txn))
	for i := range live {
		live[i] = solver.Pos(m.in + solver.Var(i))
	}
	for i, drop := -1, []solver.Lit(nil); ; {
		rest := live
		if i >= 0 {
			drop = live[i : i+1]
			rest = slices.Concat(live[:i], live[i+1:])
		}
		switch m.s.Solve(ctx, rest...) {
		case solver.Unknown:
			return nil, context.Cause(ctx)
		case solver.Unsat:
			failed := m.s.Failed()
			live = slices.DeleteFunc(rest, func(l solver.Lit) bool {
				return !slices.Contains(failed, l) && !slices.Contains(failed, l.Not())
			})
		default:
			if drop == nil {
				return nil, nil
			}
			i++
		}
		i = max(i, 0)
		if i >= len(live) {
			break
		}
	}
	return slice.Map(live, func(l solver.Lit) uint32 { return e.txn[l.Var()-m.in] }), nil
}

type minimizer struct {
	*engine
	s      *solver.Solver
	ord    *order.Order
	in     solver.Var // the first of the transactions' assumptions
	arcs   map[[2]int32]solver.Lit
	writes map[uint32][]uint32 // key → its writes, without the initial one
}

// out is the literal "transaction node i is left out".
func (m *minimizer) out(i int32) solver.Lit { return solver.Neg(m.in + solver.Var(i)) }

// ordered adds session order and real time, and reports whether they have a cycle.
func (m *minimizer) ordered() bool {
	cyclic := false
	add := func(u, v int32) { cyclic = cyclic || m.ord.AddEdge(u, v, -1) }
	if m.si {
		for i := range int32(len(m.txn)) {
			add(2*i, 2*i+1)
		}
	}
	m.fixed(func(u, v int32, _ evidence.Dep, _, _ uint32) { add(u, v) })
	return cyclic
}

// arc returns the literal of the edge u → v.
func (m *minimizer) arc(u, v int32) solver.Lit {
	l, ok := m.arcs[[2]int32{u, v}]
	if !ok {
		l = solver.Pos(m.s.NewVar())
		m.s.SetPhase(l.Var(), m.ord.Less(u, v))
		m.arcs[[2]int32{u, v}] = l
		m.guard(l, u, v, none, none)
	}
	return l
}

// reads adds for each read that it saw a possible writer, and that no other writer of the key came in between.
func (m *minimizer) reads() {
	v := m.v
	for i, t := range m.txn {
		i := int32(i)
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			cand := v.RW[r : r+1]
			if cand[0] == none {
				cand = m.candidates(r)
			}
			unless := []solver.Lit{m.out(i)} // a read is dropped with any of its possible writers
			if m.open[i] {
				unless = append(unless, solver.Neg(m.counts[i]))
			}
			for _, w := range cand {
				if u := m.writer(w); u >= 0 {
					unless = append(unless, m.out(u))
				}
			}
			unless = slices.Clip(unless)
			if len(cand) == 1 && !m.openWriter(cand[0]) {
				m.saw(unless, r, i, cand[0])
				continue
			}
			some := unless
			for _, w := range cand {
				l := solver.Pos(m.s.NewVar())
				some = append(some, l)
				if u := m.writer(w); u >= 0 && m.open[u] {
					m.s.AddClause(l.Not(), solver.Pos(m.counts[u]))
				}
				m.saw([]solver.Lit{l.Not()}, r, i, w)
			}
			m.s.AddClause(some...)
		}
	}
}

func (m *minimizer) openWriter(w uint32) bool {
	u := m.writer(w)
	return u >= 0 && m.open[u]
}

// saw adds that read r of node i saw write w, unless one of the literals holds.
func (m *minimizer) saw(unless []solver.Lit, r uint32, i int32, w uint32) {
	unless = slices.Clip(unless)
	u := m.writer(w)
	if u >= 0 {
		m.s.AddClause(append(unless, m.arc(m.commit(u), m.begin(i)))...)
	}
	for _, c := range m.writes[m.v.RKey[r]] {
		x := m.writer(c)
		if x == i || x == u {
			continue
		}
		clause := append(unless, m.out(x), m.arc(m.begin(i), m.commit(x)))
		if u >= 0 {
			clause = append(clause, m.arc(m.commit(x), m.begin(u)))
		}
		m.s.AddClause(clause...)
	}
}

// commits adds clauses: of two writers of a key, one committed before the other began.
func (m *minimizer) commits() {
	for _, t := range m.txn { // in the order of nodes, so that variables do not depend on the map's order
		for w := m.v.WOff[t]; w < m.v.WOff[t+1]; w++ {
			for _, c := range m.writes[m.v.WKey[w]] {
				if a, b := m.writer(w), m.writer(c); a < b {
					m.s.AddClause(m.out(a), m.out(b), m.arc(m.commit(a), m.begin(b)), m.arc(m.commit(b), m.begin(a)))
				}
			}
		}
	}
}
