// Package gophersat adapts the SAT solver github.com/crillab/gophersat to package solver, for comparison.
//
// gophersat's own incremental calls do not fit: Assume forgets the facts of level 0 and keeps the assumptions of
// earlier calls as facts. So every Solve builds a new gophersat solver from all the clauses, with the assumptions as
// unit clauses.
//
// gophersat cannot be told to stop, but it can send each learned clause to a channel. If the context can end, we
// receive there, and close the channel when the context ends: the solver's next learned clause then panics in its own
// goroutine, where we catch it. The price is one formatted line per conflict.
//
// Experimental: this package may still change.
package gophersat

import (
	"context"

	ext "github.com/crillab/gophersat/solver"

	"isovet/solver"
)

// Solver is a [solver.Backend] that uses gophersat. Make one with [New].
type Solver struct {
	vars    int
	clauses [][]int
	empty   bool
	model   []bool
}

var _ solver.Backend = (*Solver)(nil)

// New returns a solver with no variables and no clauses.
func New() *Solver { return &Solver{} }

// NewVars makes n variables and returns the first.
func (s *Solver) NewVars(n int) solver.Var {
	first := s.vars
	s.vars += n
	return solver.Var(first)
}

// AddClause adds a clause. It returns false for the empty clause and ever after.
func (s *Solver) AddClause(lits ...solver.Lit) bool {
	if len(lits) == 0 {
		s.empty = true
	}
	if s.empty {
		return false
	}
	// gophersat expects no literal twice and no variable with both signs.
	seen := make(map[solver.Lit]bool, len(lits))
	c := make([]int, 0, len(lits))
	for _, l := range lits {
		if seen[l.Not()] {
			return true
		}
		if !seen[l] {
			seen[l] = true
			c = append(c, l.Dimacs())
		}
	}
	s.clauses = append(s.clauses, c)
	return true
}

// Solve looks for a model, starting from scratch each time.
//
// Cost: a copy of all clauses besides the search.
func (s *Solver) Solve(ctx context.Context, assumptions ...solver.Lit) solver.Status {
	s.model = s.model[:0]
	if s.empty {
		return solver.Unsat
	}
	if ctx.Err() != nil {
		return solver.Unknown
	}
	cnf := s.clauses[:len(s.clauses):len(s.clauses)]
	for _, a := range assumptions {
		cnf = append(cnf, []int{a.Dimacs()})
	}
	problem := ext.ParseSliceNb(cnf, s.vars)
	if problem.Status == ext.Unsat {
		return solver.Unsat
	}
	g := ext.New(problem)
	status := ext.Indet
	if ctx.Done() == nil {
		status = g.Solve()
	} else {
		learned := make(chan string, 256)
		g.Certified, g.CertChan = true, learned
		finished := make(chan ext.Status, 1)
		var fault any
		go func() {
			result := ext.Indet
			defer func() {
				if r := recover(); r != nil {
					fault = r
					result = ext.Indet
				}
				finished <- result
			}()
			result = g.Solve()
		}()
		stopped := false
		done := ctx.Done()
		for running := true; running; {
			lines := learned
			if stopped {
				lines = nil
			}
			select {
			case <-lines:
			case <-done:
				if !stop(learned) {
					return solver.Unknown
				}
				stopped, done = true, nil
			case status = <-finished:
				running = false
			}
		}
		if fault != nil && !stopped {
			panic(fault)
		}
	}
	switch status {
	case ext.Sat:
		s.model = g.Model()
		return solver.Sat
	case ext.Unsat:
		return solver.Unsat
	}
	return solver.Unknown
}

// Value returns v's value in the model of the last Solve.
func (s *Solver) Value(v solver.Var) bool { return int(v) < len(s.model) && s.model[v] }
