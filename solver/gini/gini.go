// Package gini adapts the SAT solver github.com/go-air/gini to package solver, for comparison. It is incremental,
// supports assumptions, and ends when the context does.
//
// Experimental: this package may still change.
package gini

import (
	"context"
	"time"

	ext "github.com/go-air/gini"
	"github.com/go-air/gini/z"

	"isovet/solver"
)

// Solver is a [solver.Backend] that uses gini. Make one with [New].
type Solver struct {
	g     *ext.Gini
	vars  int
	unsat bool // unsatisfiable without assumptions
	model []bool
}

var _ solver.Backend = (*Solver)(nil)

// New returns a solver with no variables and no clauses.
func New() *Solver { return &Solver{g: ext.New()} }

// NewVars makes n variables and returns the first.
func (s *Solver) NewVars(n int) solver.Var {
	first := s.vars
	s.vars += n
	return solver.Var(first)
}

// AddClause adds a clause. It returns false for the empty clause, and once Solve has found that there is no model at
// all.
func (s *Solver) AddClause(lits ...solver.Lit) bool {
	if len(lits) == 0 {
		s.unsat = true
	}
	if s.unsat {
		return false
	}
	for _, l := range lits {
		s.g.Add(z.Dimacs2Lit(l.Dimacs()))
	}
	s.g.Add(z.LitNull)
	return true
}

// poll is how long gini runs before the context is looked at again.
const poll = 20 * time.Millisecond

// Solve looks for a model. If ctx can end, gini runs in its own goroutine, which is stopped and waited for when ctx
// ends.
func (s *Solver) Solve(ctx context.Context, assumptions ...solver.Lit) solver.Status {
	s.model = s.model[:0]
	if s.unsat {
		return solver.Unsat
	}
	if ctx.Err() != nil {
		return solver.Unknown
	}
	for _, a := range assumptions {
		s.g.Assume(z.Dimacs2Lit(a.Dimacs()))
	}
	var result int
	if ctx.Done() == nil {
		result = s.g.Solve()
	} else {
		run := s.g.GoSolve()
		wait := time.Millisecond / 4
		for done := false; !done; {
			result, done = run.Test()
			if done {
				break
			}
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				timer.Stop()
				result, done = run.Stop(), true
			case <-timer.C:
				wait = min(2*wait, poll)
			}
		}
	}
	switch result {
	case 1:
		known := int(s.g.MaxVar())
		for v := range s.vars {
			// gini does not know variables that occur in no clause.
			s.model = append(s.model, v < known && s.g.Value(z.Dimacs2Lit(v+1)))
		}
		return solver.Sat
	case -1:
		// gini forgets a conflict among its facts when the next clause is added, and then aborts on the wrong model
		// (S.ensure0 clears S.x). So we remember it.
		if len(s.g.Why(nil)) == 0 {
			s.unsat = true
		}
		return solver.Unsat
	}
	return solver.Unknown
}

// Value returns v's value in the model of the last Solve.
func (s *Solver) Value(v solver.Var) bool { return int(v) < len(s.model) && s.model[v] }
