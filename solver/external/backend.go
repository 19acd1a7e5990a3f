package external

import (
	"context"
	"io"

	"isovet/solver"
	"isovet/solver/dimacs"
)

// Backend has a program solve formulas in DIMACS. Each Solve is a new run, assumptions being unit clauses.
type Backend struct {
	p     *Program
	cnf   dimacs.CNF
	model []bool
	err   error
}

var _ solver.Backend = (*Backend)(nil)

// New returns a back end with no variables and no clauses.
func New(p *Program) *Backend { return &Backend{p: p} }

// NewVars makes n variables and returns the first.
func (b *Backend) NewVars(n int) solver.Var {
	first := b.cnf.Vars
	b.cnf.Vars += n
	return solver.Var(first)
}

// AddClause adds a clause; false for the empty one.
func (b *Backend) AddClause(lits ...solver.Lit) bool {
	b.cnf.Clauses = append(b.cnf.Clauses, append([]solver.Lit{}, lits...))
	return len(lits) > 0
}

// Solve runs the program. Unknown: the context ended, or Err tells why.
func (b *Backend) Solve(ctx context.Context, assumptions ...solver.Lit) solver.Status {
	b.model, b.err = nil, nil
	f := b.cnf
	for _, a := range assumptions {
		f.Clauses = append(f.Clauses[:len(f.Clauses):len(f.Clauses)], []solver.Lit{a})
	}
	m, err := b.p.run(ctx, func(w io.Writer) error { return dimacs.Write(w, &f) })
	if err == nil && m.status == solver.Sat {
		b.model, err = m.values(b.p, f.Vars, f.Clauses)
	}
	if err != nil {
		b.err = err
		return solver.Unknown
	}
	return m.status
}

// Value returns v's value in the model of the last Solve.
func (b *Backend) Value(v solver.Var) bool { return int(v) < len(b.model) && b.model[v] }

// Err says what went wrong in the last Solve, beside the end of its context.
func (b *Backend) Err() error { return b.err }
