package encode

import (
	"context"
	"fmt"
	"math"
	"slices"

	"isovet/closure"
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/acyclic"
)

const (
	// maxClosure bounds the size of a closure, in bytes.
	maxClosure = 1 << 30
	// wordsPerConflict is the number of words of closure rows that can be joined in the time of one conflict of the
	// order theory, 0.15 to 0.35 ms.
	wordsPerConflict = 1_000_000
)

// turnConflicts is the least number of conflicts after which OrderFirst may change to the closure.
var turnConflicts = 200

// OrderFirst solves a problem with our solver and the Pearce–Kelly order as its theory (WithOrder), which decides only
// the choices that the order does not obey. The closure theory (WithClosure) would avoid most conflicts. Once the
// conflicts have cost about as much time as the closure would take in all, OrderFirst starts again with the closure. So
// it takes at most about twice the time of the faster theory, if the estimate of the closure's time is right.
// Stats.Theory says which theory answered; Stats counts both.
//
// Source: isovet's own; the closure is that of [Vbox] §4.6.
func OrderFirst(ctx context.Context, q *Problem) Answer {
	work, turn := q.closureWork(), false
	a := q.byOrder(ctx, func(conflicts int64) bool {
		turn = conflicts >= int64(turnConflicts) && work <= float64(conflicts)*wordsPerConflict
		return turn
	})
	if a.Status != solver.Unknown || ctx.Err() != nil || !turn {
		return a
	}
	b := WithClosure(ctx, q)
	switch {
	case b.Stats.Rounds > 0:
		b.Stats.Theory = TheoryBoth
	case ctx.Err() != nil:
		return a
	default: // not enough memory for the closure
		b = WithOrder(ctx, q)
	}
	b.Stats.Decisions += a.Stats.Decisions
	b.Stats.Conflicts += a.Stats.Conflicts
	b.Stats.Propagated += a.Stats.Propagated
	b.Stats.Restarts += a.Stats.Restarts
	b.Stats.Rounds += a.Stats.Rounds
	return b
}

// closureWork estimates how many words of closure rows are joined until half of the guarded edges are in the graph:
// none with times, which usually keep the rows narrow; infinitely many if the closure would be too large.
func (q *Problem) closureWork() float64 {
	n := float64(q.P.N)
	switch {
	case q.P.Start != nil && !q.P.Crowded:
		return 0
	case n*n/8 > maxClosure && q.Reach == nil:
		return math.Inf(1)
	default:
		return float64(len(q.Guards)) / 2 * n * n / 64
	}
}

// WithClosure solves a problem with our solver and the compact closure as its theory; Unknown, with a reason, if the
// closure is too large. Source: [Vbox] §4.6.
func WithClosure(ctx context.Context, q *Problem) Answer {
	a, ok := q.byClosure(ctx, closure.Options{MaxBytes: maxClosure, Stop: func() bool { return ctx.Err() != nil }})
	if !ok && ctx.Err() == nil {
		a.Reason = fmt.Sprintf("the closure of %d nodes would need more than %d bytes; theory order needs no closure",
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
	return q.withTheory(ctx, TheoryClosure, q.Guards, nil, func(s *solver.Solver, guards []acyclic.Guard) {
		acyclic.NewClosure(s, q.Reach, guards, acyclic.ClosureOptions{NoPropagate: q.Search.NoPropagate})
	}), true
}

// WithOrder solves a problem with our solver and a Pearce–Kelly order as its theory; auxiliary nodes represent real
// time. Choices that the order already obeys are not decided. Source: algorithms of [PearceKelly]; isovet's own:
// leaving such choices undecided.
func WithOrder(ctx context.Context, q *Problem) Answer { return q.byOrder(ctx, nil) }

// byOrder is WithOrder that gives up, with Unknown, once enough returns true for the number of conflicts so far.
func (q *Problem) byOrder(ctx context.Context, enough func(conflicts int64) bool) Answer {
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
	guards := q.Guards
	if !o.NoDontCares {
		guards, o.Positive = q.implied(), q.pure()
	}
	return q.withTheory(ctx, TheoryOrder, guards, enough, func(s *solver.Solver, guards []acyclic.Guard) {
		acyclic.NewPK(s, order.FromGraph(g, topo), guards, o)
	})
}

// implied returns the guards of q and those that follow from clauses of two literals: if b implies the variable of an
// edge, as a choice of Cobra's implies each edge of its side, b guards that edge too (its Edge.By is that of the other
// guard). The answers are the same, but then the order can tell for b too that it obeys one of its sides, so that b
// need not be decided. Without this, each conflict undid as many decisions as there were choices: what Cobra's pruning
// left of contended histories of 4,000 transactions and 200 keys took 20.7 million decisions in place of 2,127.
//
// Cost: linear in clauses and guards.
func (q *Problem) implied() []Guard {
	const no, several = -1, -2
	one := slices.Repeat([]int32{no}, 2*q.Vars) // literal → its guard, where all of them have the same edge
	for i, g := range q.Guards {
		switch at := &one[g.Lit]; {
		case *at == no:
			*at = int32(i)
		case *at >= 0 && (q.Guards[*at].Edge.From != g.Edge.From || q.Guards[*at].Edge.To != g.Edge.To):
			*at = several
		}
	}
	all := slices.Clip(q.Guards)
	for _, c := range q.Clauses {
		if len(c) != 2 {
			continue
		}
		for i, l := range c {
			if at := one[l]; at >= 0 {
				all = append(all, Guard{c[1-i].Not(), q.Guards[at].Edge})
			}
		}
	}
	return all
}

// pure tells for each variable whether it occurs only positively: no clause has its negation, and no edge needs it
// false.
func (q *Problem) pure() []bool {
	out := slices.Repeat([]bool{true}, q.Vars)
	for _, c := range q.Clauses {
		for _, l := range c {
			if l.IsNeg() {
				out[l.Var()] = false
			}
		}
	}
	for _, g := range q.Guards {
		if g.Lit.IsNeg() {
			out[g.Lit.Var()] = false
		}
	}
	return out
}

// withTheory solves with a theory that keeps the guarded edges acyclic: those of q's guards and of guards implied by
// its clauses.
func (q *Problem) withTheory(ctx context.Context, theory string, guards []Guard, enough func(conflicts int64) bool,
	attach func(*solver.Solver, []acyclic.Guard)) Answer {
	var log lemmas
	o := q.Search.Solver
	o.Proof = &log
	if enough != nil {
		o.Enough = enough
	}
	s := solver.New(o)
	a := Answer{Status: solver.Unsat, Stats: Stats{Theory: theory, Vars: q.Vars, Clauses: len(q.Clauses), Rounds: 1}}
	if q.load(s) {
		attach(s, slice.Map(guards, func(g Guard) acyclic.Guard {
			return acyclic.Guard{Lit: g.Lit, From: g.Edge.From, To: g.Edge.To}
		}))
		a.Status = s.Solve(ctx)
	}
	a.count(s)
	switch a.Status {
	case solver.Sat:
		a.Edges = q.chosen(s.Value)
	case solver.Unsat:
		a.Cycles = q.refutation(ctx, guards, log.clauses())
	}
	return a
}

// lemmas records the clauses that the theory added in a run; a refutation needs them besides the problem's own.
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

// refutation selects lemmas that contradict the problem's clauses, and returns the cycle that each forbids, as edges of
// its guards.
func (q *Problem) refutation(ctx context.Context, guards []Guard, lemmas [][]solver.Lit) [][]polygraph.Edge {
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
	core := slice.Set(s.Failed())
	all := make([]polygraph.Edge, len(guards))
	byLit := make([][]int32, 2*q.Vars)
	for i, g := range guards {
		all[i] = g.Edge
		all[i].By = polygraph.OpenBy(i) // the implied guard's own edge
		byLit[g.Lit] = append(byLit[g.Lit], int32(i))
	}
	f := q.P.NewFinder(all)
	on := make([]bool, 2*q.Vars)
	usable := func(e *polygraph.Edge) bool {
		i, open := polygraph.OpenIndex(e.By)
		return !open || on[guards[i].Lit]
	}
	var out [][]polygraph.Edge
	for i, c := range lemmas {
		if !core[use[i]] {
			continue
		}
		for _, l := range c {
			on[l.Not()] = true
		}
		cycle := cycleOf(c, all, byLit, f, usable)
		for i := range cycle {
			if at, open := polygraph.OpenIndex(cycle[i].By); open {
				cycle[i].By = guards[at].Edge.By
			}
		}
		out = append(out, cycle)
		for _, l := range c {
			on[l.Not()] = false
		}
	}
	return out
}

func cycleOf(lemma []solver.Lit, edges []polygraph.Edge, byLit [][]int32, f *polygraph.Finder,
	usable func(*polygraph.Edge) bool) []polygraph.Edge {
	for _, l := range lemma {
		for _, i := range byLit[l.Not()] {
			e := edges[i]
			if path, ok := f.Path(e.To, e.From, usable); ok {
				return append([]polygraph.Edge{e}, path...)
			}
		}
	}
	panic("encode: a theory lemma has no cycle")
}
