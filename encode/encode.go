// Package encode turns a polygraph's open choices into clauses and guarded edges, has a solver decide them, and turns
// the solver's answer back into edges, or into cycles that prove that no acyclic choice exists.
//
// An [Encoding] is one file. It makes a [Problem]: variables, clauses, and guards (literal → edge). Every encoding can
// be combined with three ways to keep the chosen edges acyclic ([Stats].Theory): a theory inside our solver, a lazy
// loop that adds a clause for each cycle found in a model, or clauses that imply acyclicity by themselves (the order
// encoding).
//
// # Files
//
//   - vbox.go: one variable per choice (Vbox §4.5)
//   - cobra.go: one variable per edge (Cobra §4.2, Vbox Eq. 4)
//   - order.go: adds to any of these a variable per pair of nodes, transitive (for plain SAT solvers, errata V26)
//   - numbers.go: adds to any of these a number per node; smaller than order.go's where there are many pairs
//   - predicates.go: adds to any of these what predicate operations were based on (Vbox §4.5)
//   - induced.go: PolySI's induced graph, of what pruning left open
//   - lazy.go: solve, find cycles, forbid them, solve again
//   - export.go: a problem as text for other programs, the meaning of its variables, and a model read back
//   - theory.go: our solver with an acyclicity theory
//
// Experimental: this package may still change.
package encode

import (
	"context"

	"isovet/closure"
	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
)

// Guard says that Edge is in the graph if Lit is true. Edge.By is polygraph.OpenBy of the guard's index.
type Guard struct {
	Lit  solver.Lit
	Edge polygraph.Edge
}

// Problem is a polygraph's open choices as variables, clauses and guarded edges.
type Problem struct {
	P       *polygraph.Polygraph
	Vars    int
	Clauses [][]solver.Lit
	Guards  []Guard
	// Phase is, per variable, the value to try first.
	Phase []bool
	// Eager is set if the clauses imply acyclicity by themselves.
	Eager bool
	// Befores gives the meaning of the variables that MakeEager added.
	Befores []Before
	// Bits gives the meaning of the variables that MakeNumbered added.
	Bits []Bit
	// Based is set if the clauses say what predicate operations were based on, as Predicates does. If the polygraph has
	// open predicate constraints, a problem without it decides only part of the polygraph.
	Based bool
	// Search changes how isovet's own solver and its theories search, never their answers.
	Search Search
	// Reach, if set, is the closure of P's known graph, left from pruning; WithClosure uses it and changes it.
	Reach closure.Dynamic

	committed []solver.Lit // node → 1 + the literal of counts
}

func (q *Problem) newVar(phase bool) solver.Var {
	q.Vars++
	q.Phase = append(q.Phase, phase)
	return solver.Var(q.Vars - 1)
}

// guard makes e an edge of the graph where l is true; if the transaction that e leaves may not have committed, only
// where it also committed.
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

// counts returns the literal of "the transaction of node u committed".
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

// Encoding makes a problem from the open choices of a polygraph.
type Encoding struct {
	Name   string
	About  string
	Paper  string
	Encode func(p *polygraph.Polygraph) *Problem
}

// Encodings returns all encodings. To add one, add a file and a line here.
func Encodings() []Encoding {
	return []Encoding{
		{"vbox", "one variable a choice, carrying all edges of the side chosen", "Vbox §4.5", Vbox},
		{"cobra", "one variable an edge, one more a choice", "Cobra §4.2", Cobra},
		{"order", "one variable a pair of transactions, with clauses for transitivity, which keep the graph acyclic",
			"Vbox §5, its MiniSat baseline made transitive", Order},
	}
}

// Answer is a solver's answer. If Sat, Edges are the chosen edges, acyclic together with the known graph. If Unsat,
// Cycles, where any were collected, prove it: each means the clause "not all open edges of this cycle", and these
// clauses together with the encoding's own are contradictory.
type Answer struct {
	Status solver.Status
	Reason string // with Unknown: why, unless the context ended
	Edges  []polygraph.Edge
	Cycles [][]polygraph.Edge
	Stats  Stats
}

// Search has options of isovet's own solver and its theories. The zero value is the default.
type Search struct {
	Solver solver.Options
	// NoPropagate makes the closure theory only find conflicts. Propagate makes the Pearce-Kelly order also propagate
	// against edges that a reordering found to close a cycle; by default it does not.
	NoPropagate, Propagate bool
	// NoDontCares makes the Pearce-Kelly theory decide every variable, even if the order already obeys one side.
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

// Stats counts what a solver did.
type Stats struct {
	// Theory is the way in which the graph was kept acyclic, one of the constants above.
	Theory                                     string
	Vars, Clauses                              int
	Decisions, Conflicts, Propagated, Restarts int64
	Rounds                                     int
}

// chosen returns the edges that a model puts into the graph, one for each guard whose literal is true.
func (q *Problem) chosen(value func(solver.Var) bool) []polygraph.Edge {
	taken := slice.Filter(q.Guards, func(g Guard) bool { return value(g.Lit.Var()) != g.Lit.IsNeg() })
	return slice.Map(taken, func(g Guard) polygraph.Edge { return g.Edge })
}

// load gives the variables and clauses to a solver; false: they are already unsatisfiable.
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

// Eager solves a problem whose clauses alone imply acyclicity.
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
