package run

import (
	"errors"

	"isovet/encode"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/external"
)

// refutedValid drops a "no" to a history that an order explains. If another program gave it, this is not a fault of
// isovet.
func (x *Run) refutedValid() error {
	if external.Is(x.Result.Solver) {
		x.Result.Order = nil
		x.Unknown("%s says unsatisfiable, but isovet found a solution", x.Result.Solver)
		return nil
	}
	return &Fault{Checker: x.Result.Checker, Err: errors.New("it refutes a history that an order explains")}
}

// Solved records a solver's statistics.
func (x *Run) Solved(p *polygraph.Polygraph, a encode.Answer) {
	s := &x.Result.Stats
	s.Theory = a.Stats.Theory
	s.Variables, s.Clauses, s.Rounds = a.Stats.Vars, a.Stats.Clauses, a.Stats.Rounds
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagated,
		a.Stats.Restarts
	x.Stage("solving")
}

// Encode encodes what pruning left, with the pipeline's settings.
func (x *Run) Encode(enc encode.Encoding, p *polygraph.Polygraph) *encode.Problem {
	q := enc.Encode(p)
	x.Result.Stats.Encoding = enc.Name
	x.Options.Pipeline.shape(q)
	return q
}

// HoldsBy gives the commit order of a polygraph with settled choices.
func (x *Run) HoldsBy(p *polygraph.Polygraph, chosen []polygraph.Edge) error {
	order, ok := p.Order(chosen)
	if !ok {
		return &Fault{Checker: x.Result.Checker, Err: errors.New("the chosen edges have a cycle")}
	}
	x.Holds(order)
	x.Stage("evidence")
	return nil
}

// settle lets the back end settle the open choices of p in the given encoding, and finishes the answer. no proves that
// there is no order.
func (x *Run) settle(p *polygraph.Polygraph, enc func() *encode.Problem, back Solver,
	no func(q *encode.Problem, a encode.Answer) error) error {
	a := encode.Answer{Status: solver.Sat}
	var q *encode.Problem
	if len(p.Choices) > 0 || p.OpenBased() > 0 || p.OpenOutcomes() { // something is left for a solver
		q = enc()
		x.Stage("encoding")
		if x.notBased(p, q) {
			return nil
		}
		a = back.Solve(x.Ctx, q)
		x.Solved(p, a)
	}
	switch a.Status {
	case solver.Sat:
		return x.HoldsBy(p, a.Edges)
	case solver.Unsat:
		return no(q, a)
	}
	x.Unsolved(a)
	return nil
}

// unsatisfiable proves a solver's "no". Eager clauses refute without a cycle; the lazy loop finds the cycles from which
// the explanation starts. For own, see RefutedByCycles.
func (x *Run) unsatisfiable(p *polygraph.Polygraph, q *encode.Problem, a encode.Answer, own bool) error {
	if q.Eager || len(a.Cycles) == 0 {
		switch a = encode.Lazy(x.Ctx, encode.Vbox(p), solver.New(solver.Options{})); a.Status {
		case solver.Sat:
			return x.refutedValid()
		case solver.Unknown:
			x.Unsolved(a)
			return nil
		}
	}
	return x.RefutedByCycles(p, a.Cycles, own)
}

// notBased answers "unknown", and returns true, if an encoding leaves out the versions that operations may have seen.
func (x *Run) notBased(p *polygraph.Polygraph, q *encode.Problem) bool {
	if q.Based || p.OpenBased() == 0 && !p.OpenOutcomes() {
		return false
	}
	return x.Unknown("encoding %s encodes neither predicate operations nor reads that several writes explain",
		x.Result.Stats.Encoding)
}

// OutcomesOpen reports whether open outcomes are choices of the polygraph. They are, unless a predicate operation may
// have seen or missed them.
func (x *Run) OutcomesOpen() bool { return !x.fallback && len(x.View.Open) > 0 && x.View.Index == nil }

// tooManyWriters makes the constraints of reads with several possible writers and of predicate operations, before
// Combine. If they name too many, it answers "unknown" and returns true.
func (x *Run) tooManyWriters(p *polygraph.Polygraph) bool {
	what := "reads"
	if x.View.Index != nil {
		what = "reads and predicate operations"
	}
	return !p.Predicates(MaxBased) && x.Unknown("%s have more than %d possible writers in all", what, MaxBased)
}

// Unsolved says why a back end gave no answer.
func (x *Run) Unsolved(a encode.Answer) {
	if a.Reason != "" {
		x.Unknown("%s", a.Reason)
		return
	}
	x.Stopped()
}

// Combined returns the polygraph of one attempt, with chains of writes as constraints, or nil if the result says why
// there is none. Cost: that of [polygraph.Polygraph.Combine].
func (x *Run) Combined(at Attempt) *polygraph.Polygraph {
	if x.TooManyInitial() {
		return nil
	}
	at.Order.Outcomes = x.OutcomesOpen()
	p := polygraph.New(x.View, at.Level, at.Order)
	if x.tooManyWriters(p) {
		return nil
	}
	if err := p.Combine(); err != nil {
		x.Unknown("too many pairs of chains of writes have no known order: their list %v", err)
		return nil
	}
	x.Result.Stats.Constraints = p.Pairs + len(p.Based)
	x.Stage("construction")
	return p
}

// SettleOr is settle for checkers whose proof does not come from the solver's cycles: no makes it.
func (x *Run) SettleOr(p *polygraph.Polygraph, encoding encode.Encoding, no func() error) error {
	return x.settle(p, func() *encode.Problem { return x.Encode(encoding, p) }, x.Solver,
		func(*encode.Problem, encode.Answer) error { return no() })
}
