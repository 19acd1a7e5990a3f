package encode

import (
	"context"
	"slices"

	"isovet/closure"
	"isovet/graph"
	"isovet/graph/order"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// WithClosure solves a problem with our solver and the compact closure as its theory. Where no times make the closure
// compact it hands over to WithOrder, whose cost does not grow with the square of the transactions. Source: [Vbox]
// §4.6.
func WithClosure(ctx context.Context, q *Problem) Answer {
	p := q.P
	if q.Reach == nil && (p.Start == nil && p.N > 2000 || p.Crowded) {
		return WithOrder(ctx, q)
	}
	if q.Reach == nil {
		reach, _, err := closure.New(closure.KindPurdomPlus, closure.Input{N: p.N, Start: p.Start, End: p.End,
			Known: p.Graph(true)}, closure.Options{})
		if err != nil || reach == nil {
			return WithOrder(ctx, q)
		}
		q.Reach = reach
	}
	return q.withTheory(ctx, func(s *solver.Solver, guards []acyclic.Guard) {
		acyclic.NewClosure(s, q.Reach, guards, acyclic.ClosureOptions{})
	})
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
	return q.withTheory(ctx, func(s *solver.Solver, guards []acyclic.Guard) {
		acyclic.NewPK(s, order.FromGraph(g, topo), guards, acyclic.PKOptions{})
	})
}

func (q *Problem) withTheory(ctx context.Context, attach func(*solver.Solver, []acyclic.Guard)) Answer {
	var log lemmas
	s := solver.New(solver.Options{Proof: &log})
	a := Answer{Status: solver.Unsat, Stats: Stats{Vars: q.Vars, Clauses: len(q.Clauses), Rounds: 1}}
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
