package check

import (
	"errors"

	"isovet/encode"
	"isovet/evidence"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/external"
)

// liar takes back what another program said: its mistakes are not ours.
func (x *run) liar() {
	x.r.Order = nil
	x.unknown("%s says unsatisfiable of what is satisfiable", x.r.Solver)
}

// solved books a solver's work.
func (x *run) solved(p *polygraph.Polygraph, a encode.Answer) {
	s := &x.r.Stats
	s.Theory = a.Stats.Theory
	s.Variables, s.Clauses, s.Rounds = a.Stats.Vars, a.Stats.Clauses, a.Stats.Rounds
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagated,
		a.Stats.Restarts
	x.stage("solving")
}

// encode encodes what pruning left as the pipeline asks for.
func (x *run) encode(enc encode.Encoding, p *polygraph.Polygraph) *encode.Problem {
	q := enc.Encode(p)
	x.r.Stats.Encoding = enc.Name
	x.o.Pipeline.shape(q)
	return q
}

// holds makes the commit order of a polygraph whose choices have been settled.
func (x *run) holds(p *polygraph.Polygraph, chosen []polygraph.Edge) error {
	order, ok := p.Order(chosen)
	if !ok {
		return &Fault{Checker: x.r.Checker, Err: errors.New("the chosen edges have a cycle")}
	}
	x.r.Verdict, x.r.Order = evidence.Holds, order
	x.stage("evidence")
	return nil
}

// settle has the back end settle the open choices of p in the given encoding. It finishes the answer; own as in
// proveByCycles.
func (x *run) settle(p *polygraph.Polygraph, enc func(*polygraph.Polygraph) *encode.Problem, back Solver,
	own bool) error {
	a := encode.Answer{Status: solver.Sat}
	if unsettled(p) {
		q := enc(p)
		x.stage("encoding")
		if x.notBased(p, q) {
			return nil
		}
		a = back.solve(x.ctx, q)
		x.solved(p, a)
		if a.Status == solver.Unsat && (q.Eager || len(a.Cycles) == 0) {
			// Clauses that say all refute without a cycle to show; the lazy loop finds those that the explanation
			// starts from.
			lazy := encode.Lazy(x.ctx, encode.Vbox(p), solver.New(solver.Options{}))
			if lazy.Status == solver.Sat && external.Is(back.Name) {
				x.liar()
				return nil
			}
			if lazy.Status == solver.Unknown {
				x.unsolved(lazy)
				return nil
			}
			a.Cycles = lazy.Cycles
		}
	}
	switch a.Status {
	case solver.Sat:
		return x.holds(p, a.Edges)
	case solver.Unsat:
		return x.proveByCycles(p, a.Cycles, own)
	}
	x.unsolved(a)
	return nil
}

// unsettled reports whether a solver has anything to settle.
func unsettled(p *polygraph.Polygraph) bool {
	return len(p.Choices) > 0 || p.OpenBased() > 0 || p.OpenOutcomes()
}

// notBased says so, with true, where an encoding leaves out what operations were based on.
func (x *run) notBased(p *polygraph.Polygraph, q *encode.Problem) bool {
	if q.Based || p.OpenBased() == 0 && !p.OpenOutcomes() {
		return false
	}
	return x.unknown("encoding %s makes no clauses of predicate operations, nor of reads that several writes explain",
		x.r.Stats.Encoding)
}

// openOutcomes reports whether it is a choice of a polygraph's whether some transactions committed: it is where no
// predicate operation may have seen or missed them.
func (x *run) openOutcomes() bool { return !x.fallback && len(x.v.Open) > 0 && x.v.Index == nil }

// tooManyWriters makes the constraints of reads of several possible writers and of predicate operations, before
// Combine, and gives up, with true, where they name too many.
func (x *run) tooManyWriters(p *polygraph.Polygraph) bool {
	what := "reads"
	if x.v.Index != nil {
		what = "reads and predicate operations"
	}
	return !p.Predicates(maxBased) && x.unknown("%s name more than %d writes that they may have seen", what, maxBased)
}

// unsolved says why a back end gave no answer.
func (x *run) unsolved(a encode.Answer) {
	if a.Reason != "" {
		x.unknown("%s", a.Reason)
		return
	}
	x.stopped()
}

// combined is the polygraph of one attempt, with chains of writes for constraints; nil: the result says why there is
// none. Cost: that of [polygraph.Polygraph.Combine].
func (x *run) combined(at attempt) *polygraph.Polygraph {
	if x.tooManyInitial() {
		return nil
	}
	at.order.Outcomes = x.openOutcomes()
	p := polygraph.New(x.v, at.level, at.order)
	if x.tooManyWriters(p) {
		return nil
	}
	if err := p.Combine(); err != nil {
		x.unknown("too many pairs of chains of writes are open: listing them %v", err)
		return nil
	}
	x.r.Stats.Constraints = p.Pairs + len(p.Based)
	x.stage("construction")
	return p
}

// settleOr is settle where a proof is not made of the cycles that the solver saw: no makes it.
func (x *run) settleOr(p *polygraph.Polygraph, encoding encode.Encoding, no func() error) error {
	a := encode.Answer{Status: solver.Sat}
	if unsettled(p) {
		q := x.encode(encoding, p)
		x.stage("encoding")
		if x.notBased(p, q) {
			return nil
		}
		a = x.back.solve(x.ctx, q)
		x.solved(p, a)
	}
	switch a.Status {
	case solver.Sat:
		return x.holds(p, a.Edges)
	case solver.Unsat:
		return no()
	}
	x.unsolved(a)
	return nil
}
