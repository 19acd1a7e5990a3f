package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"isovet/encode"
	"isovet/internal/slice"
	"isovet/solver"
	"isovet/solver/external"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

// Solver is a way to solve a problem: a back end, and how it keeps the graph acyclic.
type Solver struct {
	Name  string
	About string
	// Backend and Theory are its two parts (SolverFor).
	Backend, Theory string
	Solve           func(ctx context.Context, q *encode.Problem) encode.Answer
}

// maxEager bounds the clauses of the eager order encoding, which grow with the cube of the transactions with choices.
var maxEager = 20_000_000

// closure reports whether the solver may use the closure of pruning.
func (s *Solver) closure() bool { return s.Theory == encode.TheoryClosure || s.Theory == theoryAuto }

type backends func(q *encode.Problem) solver.Backend

// eagerly solves the problem made eager.
func eagerly(b backends) func(context.Context, *encode.Problem) encode.Answer {
	return func(ctx context.Context, q *encode.Problem) encode.Answer {
		if n := encode.EagerClauses(q); n > maxEager {
			return encode.Answer{Reason: fmt.Sprintf("the eager order encoding would have %d clauses, more than %d",
				n, maxEager)}
		}
		return encode.Eager(ctx, encode.MakeEager(q), b(q))
	}
}

// Solvers returns all solvers, the default first.
func Solvers() []Solver { return slices.Clone(solvers) }

// solvers has a line for each back end.
var solvers = []Solver{
	{"cdcl", "isovet's own CDCL: cdcl-pk, then cdcl-closure after many conflicts (\"theory\" says which)", "cdcl",
		theoryAuto, encode.OrderFirst},
	{"cdcl-closure", "isovet's own CDCL with the compact closure as theory (Vbox §4.6)", "cdcl",
		encode.TheoryClosure, encode.WithClosure},
	{"cdcl-pk", "isovet's own CDCL with a Pearce-Kelly order as theory", "cdcl", encode.TheoryOrder,
		encode.WithOrder},
	{"cdcl-lazy", "isovet's own CDCL, a clause for each cycle found in a model", "cdcl", encode.TheoryLazy,
		lazily(ownCDCL)},
	{"gini", "github.com/go-air/gini, a clause for each cycle found in a model", "gini", encode.TheoryLazy,
		lazily(newGini)},
	{"gophersat", "github.com/crillab/gophersat, a clause for each cycle found in a model", "gophersat",
		encode.TheoryLazy, lazily(newGopher)},
	{"cdcl-eager", "isovet's own CDCL on the eager order encoding, cubic in the transactions in question", "cdcl",
		encode.TheoryEager, eagerly(ownCDCL)},
	{"gini-eager", "gini on the eager order encoding", "gini", encode.TheoryEager, eagerly(newGini)},
	{"gophersat-eager", "gophersat on the eager order encoding", "gophersat", encode.TheoryEager, eagerly(newGopher)},
}

func ownCDCL(q *encode.Problem) solver.Backend { return solver.New(q.Search.Solver) }
func newGini(*encode.Problem) solver.Backend   { return gini.New() }
func newGopher(*encode.Problem) solver.Backend { return gophersat.New() }

func lazily(b backends) func(context.Context, *encode.Problem) encode.Answer {
	return func(ctx context.Context, q *encode.Problem) encode.Answer { return encode.Lazy(ctx, q, b(q)) }
}

// SolverNames returns the names of all solvers. A caller does not change them.
var SolverNames = sync.OnceValue(func() []string { return slice.Map(solvers, func(s Solver) string { return s.Name }) })

func defaultSolver() Solver { return solvers[0] }

// SolverByName finds a solver; "" is the default.
func SolverByName(name string) (Solver, error) {
	if name == "" {
		return solvers[0], nil
	}
	for _, s := range solvers {
		if s.Name == name {
			return s, nil
		}
	}
	if external.Is(name) {
		return externalSolver(name)
	}
	return Solver{}, fmt.Errorf("unknown solver %q; expected one of %s, or external:COMMAND", name,
		strings.Join(SolverNames(), ", "))
}

// LookupSolver finds a solver. It returns the zero value if there is none of the name.
func LookupSolver(name string) Solver {
	s, err := SolverByName(name)
	if err != nil {
		return Solver{}
	}
	return s
}

// TakesSolver says why a checker cannot use a solver, or returns nil.
func TakesSolver(in Info, name string) error {
	if !slices.Contains(in.Solvers, name) && (len(in.Solvers) == 0 || !external.Is(name)) {
		return fmt.Errorf("checker %s cannot use solver %s; expected one of %s, or external:COMMAND", in.Name, name,
			strings.Join(in.Solvers, ", "))
	}
	return SolverError(name)
}

// HasSolver reports whether a name names a solver, an external one included.
func HasSolver(name string) bool { return LookupSolver(name).Solve != nil }

// externalSolver returns the solver of a name like "external:monosat". A program that reads GNF gets the encoding with
// its graph, one that reads DIMACS the eager order encoding.
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

// SolverError says why a name names no solver, or one that is not installed, or returns nil.
func SolverError(name string) error {
	_, err := SolverByName(name)
	return err
}
