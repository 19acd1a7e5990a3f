package replay

import (
	"context"

	"isovet/graph"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// maxGuards bounds the guarded edges of all open choices together.
const maxGuards = 1 << 22

// dense makes the choices that saturation left open, all of them, and asks the solver with the closure as its theory. Choices made
// one by one, as reads fail, leave the solver blind to what it has not met yet; where writers of one key are many and unordered, it
// meets nearly all of them in the end, by tens of thousands of conflicts. All at once, each decision settles what follows from it,
// and a few dozen conflicts remain. Reads with several possible writers are left out, and transactions of unknown outcome too.
//
// The answer is Unknown if the choices are too many, or the conflicts more than budget.
// Cost: for each writer, the writers of its key in its window; see acyclic.Window for the search.
func (e *engine) dense(ctx context.Context, sat *saturation, budget int64) (status solver.Status, order []int32) {
	if sat.reach == nil {
		return solver.Unknown, nil
	}
	s := solver.New(solver.Options{ConflictBudget: budget})
	guards, ok := e.openPairs(s, sat)
	if !ok {
		return solver.Unknown, nil
	}
	status = solver.Unsat
	if sat.reach.Attach(s, guards) == nil {
		status = s.Solve(ctx)
	}
	e.count(s)
	e.stats.Pairs = s.NumVars()
	if status != solver.Sat {
		return status, nil
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
		for _, x := range guards {
			if s.Value(x.Lit.Var()) != x.Lit.IsNeg() {
				emit(x.From, x.To)
			}
		}
	})
	order, acyclical := graph.TopologicalBy(g, sat.rank)
	if !acyclical {
		panic("replay: the model has a cycle")
	}
	return solver.Sat, order
}

// openPairs makes a variable for every two writers of a key that saturation did not order, "the first in its order is first", with
// the guards of both sides; its first value is what their middles say. At the serializable levels a pair without readers is left out: any order of the two will do. The last
// come first: a conflict then mostly goes back to decisions near it.
func (e *engine) openPairs(s *solver.Solver, sat *saturation) (guards []acyclic.Guard, ok bool) {
	reach := sat.reach
	add := func(l solver.Lit, u, v int32) {
		if u != v && !reach.Reaches(u, v) {
			guards = append(guards, acyclic.Guard{Lit: l, From: u, To: v})
		}
	}
	side := func(l solver.Lit, a, b uint32) {
		u, v := e.writer(a), e.writer(b)
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
				if plain && len(e.readersOf(b)) == 0 || reach.Reaches(e.commit(u), e.begin(v)) || reach.Reaches(e.commit(v), e.begin(u)) {
					continue
				}
				x := s.NewVar()
				s.SetPhase(x, sat.rank[e.commit(u)] <= sat.rank[e.commit(v)])
				side(solver.Pos(x), a, b)
				side(solver.Neg(x), b, a)
				if len(guards) > maxGuards {
					return nil, false
				}
			}
		}
	}
	return guards, true
}
