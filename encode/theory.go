package encode

import (
	"context"
	"fmt"
	"slices"

	"isovet/closure"
	"isovet/graph"
	"isovet/graph/order"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// untimedMost is up to how many nodes WithClosure keeps a closure that no times make compact: its cost grows with the
// square of the nodes.
const untimedMost = 2000

// maxClosure bounds a closure, in bytes.
const maxClosure = 1 << 30

// WithClosure solves a problem with our solver and the compact closure as its theory where that is the better of the
// two by size: where no times make the closure compact and the nodes are more than untimedMost, it hands over to
// WithOrder, whose cost does not grow with the square of the transactions. Stats.Theory says which it was. Source:
// [Vbox] §4.6.
func WithClosure(ctx context.Context, q *Problem) Answer {
	p := q.P
	if q.Reach == nil && (p.Start == nil && p.N > untimedMost || p.Crowded) {
		return WithOrder(ctx, q)
	}
	if a, ok := q.byClosure(ctx, closure.Options{}); ok {
		return a
	}
	return WithOrder(ctx, q)
}

// OnlyClosure is WithClosure without the other theory: unknown, with the reason, where the closure is too large.
func OnlyClosure(ctx context.Context, q *Problem) Answer {
	a, ok := q.byClosure(ctx, closure.Options{MaxBytes: maxClosure, Stop: func() bool { return ctx.Err() != nil }})
	if !ok && ctx.Err() == nil {
		a.Reason = fmt.Sprintf("the closure of %d nodes would take more than %d bytes; --theory order needs none",
			q.P.N, maxClosure)
	}
	return a
}

func (q *Problem) byClosure(ctx context.Context, o closure.Options) (Answer, bool) {
	p := q.P
	if q.Reach == nil {
		reach, _, err := closure.New(closure.KindPurdomPlus, closure.Input{N: p.N, Start: p.Start, End: p.End,
			Known: p.Graph(true)}, o)
		if err != nil || reach == nil {
			return Answer{Stats: Stats{Theory: TheoryClosure, Vars: q.Vars, Clauses: len(q.Clauses)}}, false
		}
		q.Reach = reach
	}
	return q.withTheory(ctx, TheoryClosure, func(s *solver.Solver, guards []acyclic.Guard) {
		acyclic.NewClosure(s, q.Reach, guards, acyclic.ClosureOptions{NoPropagate: q.Search.NoPropagate})
	}), true
}

// WithOrder solves a problem with our solver and a Pearce–Kelly order as its theory, real time as auxiliary nodes.
// Choices that the order obeys are not decided. Source: algorithms of [PearceKelly]; don't-cares relative to an order
// are isovet's own.
func WithOrder(ctx context.Context, q *Problem) Answer {
	p := q.P
	g := p.FullGraph(nil)
	var topo []int32
	var ok bool
	if p.Start != nil {
		topo, ok = graph.Topological(g)
	} else {
		topo, ok = graph.TopologicalBy(g, p.Hint)
	}
	if !ok {
		panic("encode: the known graph has a cycle")
	}
	o := acyclic.PKOptions{Propagate: q.Search.Propagate, NoDontCares: q.Search.NoDontCares}
	return q.withTheory(ctx, TheoryOrder, func(s *solver.Solver, guards []acyclic.Guard) {
		acyclic.NewPK(s, order.FromGraph(g, topo), guards, o)
	})
}

func (q *Problem) withTheory(ctx context.Context, theory string, attach func(*solver.Solver, []acyclic.Guard)) Answer {
	var log lemmas
	o := q.Search.Solver
	o.Proof = &log
	s := solver.New(o)
	a := Answer{Status: solver.Unsat, Stats: Stats{Theory: theory, Vars: q.Vars, Clauses: len(q.Clauses), Rounds: 1}}
	if q.load(s) {
		guards := make([]acyclic.Guard, len(q.Guards))
		for i, g := range q.Guards {
			guards[i] = acyclic.Guard{Lit: g.Lit, From: g.Edge.From, To: g.Edge.To}
		}
		attach(s, guards)
		a.Status = s.Solve(ctx)
	}
	a.count(s)
	switch a.Status {
	case solver.Sat:
		a.Edges = q.chosen(s.Value)
	case solver.Unsat:
		a.Cycles = q.refutation(ctx, log.clauses())
	}
	return a
}

// lemmas keeps the theory's clauses of a run: what a refutation rests on beside the problem's own.
type lemmas struct {
	lits []solver.Lit
	off  []int
}

func (l *lemmas) Lemma(c []solver.Lit) {
	l.lits = append(l.lits, c...)
	l.off = append(l.off, len(l.lits))
}
func (*lemmas) Input([]solver.Lit)  {}
func (*lemmas) Learn([]solver.Lit)  {}
func (*lemmas) Delete([]solver.Lit) {}

func (l *lemmas) clauses() [][]solver.Lit {
	out := make([][]solver.Lit, len(l.off))
	from := 0
	for i, to := range l.off {
		out[i] = l.lits[from:to]
		from = to
	}
	return out
}

// refutation picks lemmas that contradict the problem's clauses and finds the cycle behind each.
func (q *Problem) refutation(ctx context.Context, lemmas [][]solver.Lit) [][]polygraph.Edge {
	s := solver.New(solver.Options{})
	s.NewVars(q.Vars)
	for _, c := range q.Clauses {
		s.AddClause(c...)
	}
	use := make([]solver.Lit, len(lemmas))
	for i, c := range lemmas {
		use[i] = solver.Pos(s.NewVar())
		s.AddClause(append(slices.Clone(c), use[i].Not())...)
	}
	if s.Solve(ctx, use...) != solver.Unsat {
		return nil
	}
	core := make(map[solver.Lit]bool)
	for _, l := range s.Failed() {
		core[l] = true
	}
	all := make([]polygraph.Edge, len(q.Guards))
	byLit := make([][]int32, 2*q.Vars)
	for i, g := range q.Guards {
		all[i] = g.Edge
		byLit[g.Lit] = append(byLit[g.Lit], int32(i))
	}
	f := q.P.NewFinder(all)
	on := make([]bool, 2*q.Vars)
	usable := func(e *polygraph.Edge) bool {
		i, open := polygraph.OpenIndex(e.By)
		return !open || on[q.Guards[i].Lit]
	}
	var out [][]polygraph.Edge
	for i, c := range lemmas {
		if !core[use[i]] {
			continue
		}
		for _, l := range c {
			on[l.Not()] = true
		}
		out = append(out, q.cycleOf(c, byLit, f, usable))
		for _, l := range c {
			on[l.Not()] = false
		}
	}
	return out
}

// cycleOf finds the cycle that a lemma forbids.
func (q *Problem) cycleOf(lemma []solver.Lit, byLit [][]int32, f *polygraph.Finder,
	usable func(*polygraph.Edge) bool) []polygraph.Edge {
	for _, l := range lemma {
		for _, i := range byLit[l.Not()] {
			e := q.Guards[i].Edge
			if path, ok := f.Path(e.To, e.From, usable); ok {
				return append([]polygraph.Edge{e}, path...)
			}
		}
	}
	panic("encode: a theory lemma has no cycle")
}
