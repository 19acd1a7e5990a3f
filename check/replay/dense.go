package replay

import (
	"context"

	"isovet/internal/graph"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// dense is a search among all open choices at once.
type dense struct {
	s      *solver.Solver
	guards []acyclic.Guard
	about  []about  // guard → the writes that it orders
	log    lemmaLog // the theory's clauses, if the caller wants them
}

// dense makes all choices that saturation left open, and runs the solver with the closure as its theory. If choices are
// made one by one, as reads fail, the solver does not see later choices. If the writers of one key are many and
// unordered, it makes nearly all choices in the end, after tens of thousands of conflicts. With all choices at once,
// each decision settles others, and a few dozen conflicts remain. dense ignores reads with several possible writers and
// transactions of unknown outcome.
//
// With explained, it logs the theory's clauses. It can be called once with the result of saturate, and again after
// sat.renew. The answer is Unknown if the choices are too many, or the conflicts exceed budget. Cost: for each writer,
// the writers of its key in its window; see acyclic.Window for the search.
func (e *engine) dense(ctx context.Context, sat *saturation, budget int64, explained bool) (d *dense,
	status solver.Status, order []int32) {
	if sat.reach == nil {
		return nil, solver.Unknown, nil
	}
	d = &dense{}
	o := solver.Options{ConflictBudget: budget, MaxArena: e.o.bounds.arena}
	if explained {
		d.log.read = none
		o.Proof = &d.log
	}
	d.s = solver.New(o)
	if !e.openPairs(d, sat) {
		return nil, solver.Unknown, nil
	}
	if c := sat.reach.Attach(d.s, d.guards); c != nil {
		panic("replay: guards of new variables close a cycle")
	}
	status = d.s.Solve(ctx)
	e.count(d.s)
	e.stats.Pairs = d.s.NumVars()
	if status != solver.Sat {
		return d, status, nil
	}
	g := graph.BuildFunc(e.total, func(emit func(u, v int32)) {
		for u := range int32(e.total) {
			for _, v := range sat.base.Succ(u) {
				emit(u, v)
			}
		}
		for _, f := range sat.last {
			emit(f.From, f.To)
		}
		for _, x := range d.guards {
			if d.s.Value(x.Lit.Var()) != x.Lit.IsNeg() {
				emit(x.From, x.To)
			}
		}
	})
	order, acyclical := graph.TopologicalBy(g, sat.rank)
	if !acyclical {
		panic("replay: the model has a cycle")
	}
	return d, solver.Sat, order
}

// openPairs makes a choice for each two writers of a key that saturation did not order: a variable, with guards for
// both sides. Its first value follows the middles of the writers' windows. At the serializable levels a pair without
// readers is left out, because both orders will do. Later pairs get the first variables, so that a conflict mostly goes
// back to decisions near it. It returns false if the pairs are too many.
func (e *engine) openPairs(d *dense, sat *saturation) bool {
	reach := sat.reach
	var of about
	add := func(l solver.Lit, u, v int32) {
		if u != v && !reach.Reaches(u, v) {
			d.guards = append(d.guards, acyclic.Guard{Lit: l, From: u, To: v})
			d.about = append(d.about, of)
		}
	}
	side := func(l solver.Lit, a, b uint32) {
		u, v := e.writer(a), e.writer(b)
		of = about{a, b, none}
		add(l, e.commit(u), e.begin(v))
		for _, r := range e.readersOf(a) {
			if r != v && !e.open[r] {
				add(l, e.begin(r), e.commit(v))
			}
		}
	}
	ws := e.writersBy(reach.Order(), e.begin)
	place := append([]int32(nil), ws.off[1:]...)
	order := reach.Order()
	for p := len(order) - 1; p >= 0; p-- {
		u := e.nodeOf(order[p])
		if int(u) >= len(e.txn) || order[p] != e.begin(u) || e.open[u] {
			continue
		}
		_, end := reach.Span(e.commit(u))
		for a := e.v.WOff[e.txn[u]]; a < e.v.WOff[e.txn[u]+1]; a++ {
			k := e.v.WKey[a]
			place[k]--
			plain := !e.si && len(e.readersOf(a)) == 0
			for _, b := range ws.w[place[k]+1 : ws.off[k+1]] {
				v := e.writer(b)
				if reach.Rank(e.begin(v)) >= end {
					break
				}
				if plain && len(e.readersOf(b)) == 0 || reach.Reaches(e.commit(u), e.begin(v)) ||
					reach.Reaches(e.commit(v), e.begin(u)) {
					continue
				}
				x := d.s.NewVar()
				d.s.SetPhase(x, sat.rank[e.commit(u)] <= sat.rank[e.commit(v)])
				side(solver.Pos(x), a, b)
				side(solver.Neg(x), b, a)
				if len(d.guards) > e.o.bounds.guards {
					return false
				}
			}
		}
	}
	return true
}
