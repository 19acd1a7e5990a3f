package solver

import "context"

// Backend is what callers need of an incremental SAT solver. *[Solver] implements it, and so do the adapters
// solver/gini and solver/gophersat. Clauses and variables may be added between calls of Solve, so that a lazy loop
// (solve, find a cycle, add its clause, solve again) works with every one of them.
type Backend interface {
	// NewVars makes n variables and returns the first; they are numbered consecutively.
	NewVars(n int) Var
	// AddClause adds a clause. It returns false if the formula is now known to be unsatisfiable; true promises nothing.
	AddClause(lits ...Lit) bool
	// Solve looks for a model in which the assumptions are true. It returns Unknown only if ctx ended, a budget was
	// used up or the solver ran out of room.
	Solve(ctx context.Context, assumptions ...Lit) Status
	// Value returns v's value in the model of the last Solve; meaningful only after Sat.
	Value(v Var) bool
}

var _ Backend = (*Solver)(nil)
