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
	s.Variables, s.Clauses, s.Rounds = a.Stats.Vars, a.Stats.Clauses, a.Stats.Rounds
	s.Decisions, s.Conflicts, s.Propagated, s.Restarts = a.Stats.Decisions, a.Stats.Conflicts, a.Stats.Propagated,
		a.Stats.Restarts
	x.stage("solving")
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
	if len(p.Choices) > 0 || p.OpenBased() > 0 {
		q := enc(p)
		x.stage("encoding")
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

// unsolved says why a back end gave no answer.
func (x *run) unsolved(a encode.Answer) {
	if a.Reason != "" {
		x.unknown("%s", a.Reason)
		return
	}
	x.stopped()
}
