package run

import (
	"context"

	"isovet/encode"
	"isovet/solver"
	"isovet/solver/external"
)

// externalSolver is the solver of a name like "external:monosat": one that reads GNF gets the encoding with its graph,
// one that reads DIMACS the eager order encoding.
func externalSolver(name string) (Solver, error) {
	p, err := external.Parse(name)
	if err != nil {
		return Solver{}, err
	}
	s := Solver{Name: name, About: "the program " + p.Path, Backend: name, Theory: encode.TheoryOwn}
	s.Solve = func(ctx context.Context, q *encode.Problem) encode.Answer { return encode.WithProgram(ctx, q, p) }
	if p.Format == external.DIMACS {
		s.Theory = encode.TheoryEager
		s.Solve = func(ctx context.Context, q *encode.Problem) encode.Answer {
			b := external.New(p)
			a := eagerly(func(*encode.Problem) solver.Backend { return b })(ctx, q)
			if err := b.Err(); err != nil {
				a.Reason = err.Error()
			}
			return a
		}
	}
	return s, nil
}

// IsExternal reports whether a solver's name names another program.
func IsExternal(name string) bool { return external.Is(name) }

// SolverError says why a name names no solver, or one that is not there; nil: it does.
func SolverError(name string) error {
	_, err := SolverByName(name)
	return err
}

// LastLine is what another program's output ends with, behind a colon, fit for an error; "" if there is nothing.
func LastLine(text string) string { return external.LastLine(text) }
