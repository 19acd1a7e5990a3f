package run

import (
	"errors"

	"isovet/encode"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/external"
)

// liar takes back what another program said: its mistakes are not ours.
func (x *Run) liar() {
	x.Result.Order = nil
	x.Unknown("%s says unsatisfiable, but isovet found a solution", x.Result.Solver)
}

// Solved books a solver's work.
func (x *Run) Solved(p *polygraph.Polygraph, a encode.Answer) {
	s := &x.Result.Stats
	s.Theory = a.Stats.Theory
	s.Variables, s.Clauses, s.Rounds = a.Stats.Vars, a.Stats.Clauses, a.Stats.Rounds
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagated,
		a.Stats.Restarts
	x.Stage("solving")
}

// Encode encodes what pruning left as the pipeline asks for.
func (x *Run) Encode(enc encode.Encoding, p *polygraph.Polygraph) *encode.Problem {
	q := enc.Encode(p)
	x.Result.Stats.Encoding = enc.Name
	x.Options.Pipeline.shape(q)
	return q
}

// HoldsBy makes the commit order of a polygraph whose choices have been settled.
func (x *Run) HoldsBy(p *polygraph.Polygraph, chosen []polygraph.Edge) error {
	order, ok := p.Order(chosen)
	if !ok {
		return &Fault{Checker: x.Result.Checker, Err: errors.New("the chosen edges have a cycle")}
	}
	x.Holds(order)
	x.Stage("evidence")
	return nil
}

// settle has the back end settle the open choices of p in the given encoding. It finishes the answer; own as in
// RefutedByCycles.
func (x *Run) settle(p *polygraph.Polygraph, enc func(*polygraph.Polygraph) *encode.Problem, back Solver,
	own bool) error {
	a := encode.Answer{Status: solver.Sat}
	if unsettled(p) {
		q := enc(p)
		x.Stage("encoding")
		if x.notBased(p, q) {
			return nil
		}
		a = back.Solve(x.Ctx, q)
		x.Solved(p, a)
		if a.Status == solver.Unsat && (q.Eager || len(a.Cycles) == 0) {
			// Clauses that say all refute without a cycle to show; the lazy loop finds those that the explanation
			// starts from.
			lazy := encode.Lazy(x.Ctx, encode.Vbox(p), solver.New(solver.Options{}))
			if lazy.Status == solver.Sat && external.Is(back.Name) {
				x.liar()
				return nil
			}
			if lazy.Status == solver.Unknown {
				x.Unsolved(lazy)
				return nil
			}
			a.Cycles = lazy.Cycles
		}
	}
	switch a.Status {
	case solver.Sat:
		return x.HoldsBy(p, a.Edges)
	case solver.Unsat:
		return x.RefutedByCycles(p, a.Cycles, own)
	}
	x.Unsolved(a)
	return nil
}

// unsettled reports whether a solver has anything to settle.
func unsettled(p *polygraph.Polygraph) bool {
	return len(p.Choices) > 0 || p.OpenBased() > 0 || p.OpenOutcomes()
}

// notBased says so, with true, where an encoding leaves out what operations were based on.
func (x *Run) notBased(p *polygraph.Polygraph, q *encode.Problem) bool {
	if q.Based || p.OpenBased() == 0 && !p.OpenOutcomes() {
		return false
	}
	return x.Unknown("encoding %s encodes neither predicate operations nor reads that several writes explain",
		x.Result.Stats.Encoding)
}

// OutcomesOpen reports whether it is a choice of a polygraph's whether some transactions committed: it is where no
// predicate operation may have seen or missed them.
func (x *Run) OutcomesOpen() bool { return !x.fallback && len(x.View.Open) > 0 && x.View.Index == nil }

// tooManyWriters makes the constraints of reads of several possible writers and of predicate operations, before
// Combine, and gives up, with true, where they name too many.
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

// Combined is the polygraph of one attempt, with chains of writes for constraints; nil: the result says why there is
// none. Cost: that of [polygraph.Polygraph.Combine].
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

// SettleOr is settle where a proof is not made of the cycles that the solver saw: no makes it.
func (x *Run) SettleOr(p *polygraph.Polygraph, encoding encode.Encoding, no func() error) error {
	a := encode.Answer{Status: solver.Sat}
	if unsettled(p) {
		q := x.Encode(encoding, p)
		x.Stage("encoding")
		if x.notBased(p, q) {
			return nil
		}
		a = x.Solver.Solve(x.Ctx, q)
		x.Solved(p, a)
	}
	switch a.Status {
	case solver.Sat:
		return x.HoldsBy(p, a.Edges)
	case solver.Unsat:
		return no()
	}
	x.Unsolved(a)
	return nil
}
