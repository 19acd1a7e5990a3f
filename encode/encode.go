// Package encode turns a polygraph's open choices into clauses and guarded edges, has a solver settle them, and turns
// its answer back into edges, or into the cycles that prove that there is none.
//
// An [Encoding] is one file. It makes a [Problem]: variables, clauses, and guards (literal → edge). Three ways to keep
// the chosen edges acyclic are open to every encoding ([Acyclicity]): a theory inside our solver, a lazy loop that adds
// a clause for each cycle found in a model, or nothing at all where the clauses already say it (the order encoding).
//
// # Files
//
//   - vbox.go: one variable a choice (Vbox §4.5)
//   - cobra.go: one variable an edge (Cobra §4.2, Vbox Eq. 4)
//   - order.go: any of these with one variable a pair of nodes, transitive (what a plain SAT solver needs, errata V26)
//   - numbers.go: any of these with a number for each node, smaller than pairs where there are many
//   - predicates.go: what predicate operations were based on (Vbox §4.5), in any of these
//   - induced.go: PolySI's induced graph, what pruning left of it
//   - lazy.go: solve, find cycles, forbid them, solve again
//   - export.go: a problem as text for other programs, what its variables mean, and a model read back
//   - theory.go: our solver with an acyclicity theory
//
// Experimental: this package may still change.
package encode

import (
	"context"

	"isovet/closure"
	"isovet/polygraph"
	"isovet/solver"
)

// Guard says: if Lit is true, Edge is in the graph. Edge.By is polygraph.OpenBy of the guard's own index.
type Guard struct {
	Lit  solver.Lit
	Edge polygraph.Edge
}

// Problem is a polygraph's open choices in clauses.
type Problem struct {
	P       *polygraph.Polygraph
	Vars    int
	Clauses [][]solver.Lit
	Guards  []Guard
	// Phase is the first value to try, per variable.
	Phase []bool
	// Eager: the clauses imply acyclicity by themselves.
	Eager bool
	// Befores are the variables that MakeEager added.
	Befores []Before
	// Bits are those of MakeNumbered.
	Bits []Bit
	// Based: the clauses say what predicate operations were based on, as Predicates does. A problem without is none of
	// a polygraph that has such constraints open.
	Based bool
	// Search changes how isovet's own solver and its theories search, never what they answer.
	Search Search
	// Reach, if set, is the closure of P's known graph, left over from pruning; WithClosure uses it up.
	Reach closure.Dynamic

	committed []solver.Lit // by node, one more than the literal; see counts
}

func (q *Problem) newVar(phase bool) solver.Var {
	q.Vars++
	q.Phase = append(q.Phase, phase)
	return solver.Var(q.Vars - 1)
}

// guard puts an edge into the graph wherever a literal is true; one that leaves a transaction which may not have
// committed, if it did besides.
func (q *Problem) guard(l solver.Lit, e polygraph.Edge) {
	if q.P.MayCount(e.From) {
		if c := q.counts(e.From); c != l {
			there := solver.Pos(q.newVar(false))
			q.Clauses = append(q.Clauses, []solver.Lit{l.Not(), c.Not(), there}, []solver.Lit{there.Not(), c})
			l = there
		}
	}
	q.put(l, e)
}

// counts is the literal of "the transaction of node u committed".
func (q *Problem) counts(u int32) solver.Lit {
	u = q.P.BeginNode(u)
	if q.committed == nil {
		q.committed = make([]solver.Lit, q.P.N)
	}
	if q.committed[u] == 0 {
		q.committed[u] = solver.Pos(q.newVar(false)) + 1
	}
	return q.committed[u] - 1
}

func (q *Problem) put(l solver.Lit, e polygraph.Edge) {
	e.By = polygraph.OpenBy(len(q.Guards))
	q.Guards = append(q.Guards, Guard{l, e})
}

// Encoding makes a problem of a polygraph's open choices.
type Encoding struct {
	Name   string
	About  string
	Paper  string
	Encode func(p *polygraph.Polygraph) *Problem
}

// Encodings returns all encodings. A new one needs a file and a line here.
func Encodings() []Encoding {
	return []Encoding{
		{"vbox", "one variable a choice, carrying all edges of the side chosen", "Vbox §4.5", Vbox},
		{"cobra", "one variable an edge, one more a choice", "Cobra §4.2", Cobra},
		{"order", "one variable a pair of transactions, with clauses for transitivity, which keep the graph acyclic",
			"Vbox §5, its MiniSat baseline made transitive", Order},
	}
}

// Answer is what solving gave. Sat: Edges are the chosen edges, acyclic with the known graph. Unsat: Cycles, if any
// were collected, prove it: read as clauses "not all of the open edges of this cycle" they contradict the encoding's
// own clauses.
type Answer struct {
	Status solver.Status
	Reason string // with Unknown: why, where it is not that the context ended
	Edges  []polygraph.Edge
	Cycles [][]polygraph.Edge
	Stats  Stats
}

// Search has choices of isovet's own solver and its theories. The zero value is the default.
type Search struct {
	Solver solver.Options
	// NoPropagate makes the closure theory only find conflicts. Propagate makes the Pearce-Kelly order report edges
	// that a reordering found to close a cycle; by default it does not.
	NoPropagate, Propagate bool
	// NoDontCares makes the Pearce-Kelly theory decide every variable, even where the order obeys one side already.
	NoDontCares bool
}

// The ways to keep the chosen edges acyclic.
const (
	TheoryClosure = "closure" // reachability, inside isovet's solver
	TheoryOrder   = "order"   // a Pearce-Kelly order, inside isovet's solver
	TheoryLazy    = "lazy"    // a clause for each cycle found in a model
	TheoryEager   = "eager"   // clauses for all cycles beforehand
	TheoryOwn     = "own"     // another program's

	TheoryBoth = "order+closure" // the order, and after many conflicts the closure: see OrderFirst
)

// Stats counts a solver's work.
type Stats struct {
	// Theory is the way in which the graph was kept acyclic.
	Theory                                     string
	Vars, Clauses                              int
	Decisions, Conflicts, Propagated, Restarts int64
	Rounds                                     int
}

// chosen collects the edges that a model puts into the graph, once for each guard.
func (q *Problem) chosen(value func(solver.Var) bool) []polygraph.Edge {
	var out []polygraph.Edge
	for _, g := range q.Guards {
		if value(g.Lit.Var()) != g.Lit.IsNeg() {
			out = append(out, g.Edge)
		}
	}
	return out
}

// load gives the problem to a back end; false: already unsatisfiable.
func (q *Problem) load(b solver.Backend) bool {
	b.NewVars(q.Vars)
	if s, ok := b.(*solver.Solver); ok {
		for v, positive := range q.Phase {
			s.SetPhase(solver.Var(v), positive)
		}
	}
	ok := true
	for _, c := range q.Clauses {
		ok = b.AddClause(c...) && ok
	}
	return ok
}

// Eager solves a problem whose clauses alone exclude cycles.
func Eager(ctx context.Context, q *Problem, b solver.Backend) Answer {
	a := Answer{Status: solver.Unsat, Stats: Stats{Theory: TheoryEager, Vars: q.Vars, Clauses: len(q.Clauses),
		Rounds: 1}}
	if q.load(b) {
		a.Status = b.Solve(ctx)
	}
	a.count(b)
	if a.Status == solver.Sat {
		a.Edges = q.chosen(b.Value)
	}
	return a
}

func (a *Answer) count(b solver.Backend) {
	if s, ok := b.(*solver.Solver); ok {
		st := s.Stats()
		a.Stats.Decisions, a.Stats.Conflicts = st.Decisions, st.Conflicts
		a.Stats.Propagated, a.Stats.Restarts = st.Propagations, st.Restarts
	}
}
