// Package external solves formulas with another program: a SAT solver that reads DIMACS, one that knows acyclic graphs
// and reads MonoSAT's GNF, or one that knows differences of numbers and reads SMT-LIB.
//
// # Programs
//
// A [Program] is a command line. Its input is a file, put where the arguments say {in}, or else as the last argument;
// or standard input, if the last argument is "-". Its answer is looked for in the file named {out}, if the arguments
// name one, and on standard output: a line with SATISFIABLE, SAT, UNSATISFIABLE or UNSAT, with or without the "s " of
// the SAT competitions; a model as lines of numbers, with or without their "v ". If there is no such line, the exit
// status decides, 10 or 20. With SMT-LIB the answer is sat or unsat, and the model is define-funs. Arguments that some
// programs need are added by the program's name: minisat and glucose write models only into a file, monosat prints one
// only with -witness.
//
// A program may be wrong. Its models are checked against the clauses here, and against the graph by the caller; a
// refutation is explained and certified without it.
//
// # Files
//
//   - external.go: the command line, running it, its answer; a program as solver.Backend, by DIMACS
//   - gnf.go, smt.go: formulas with a graph, as text
//
// Experimental: this package may still change.
package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"isovet/solver"
	"isovet/solver/dimacs"
)

// Format is the input format of a program.
type Format uint8

const (
	DIMACS Format = iota
	GNF           // MonoSAT's: DIMACS with graphs
	SMT           // SMT-LIB 2, nodes as numbers
)

// Program is another solver, to be run as a process.
type Program struct {
	Format Format
	Path   string   // of the executable
	Args   []string // with {in} and {out}, or a last "-"
	Name   string   // as the user wrote it
}

// The prefixes by which a solver's name means a program.
const (
	Auto        = "external:"        // the format follows from the program's name
	ForceDIMACS = "external-dimacs:" // DIMACS
	ForceGNF    = "external-gnf:"    // GNF
	ForceSMT    = "external-smt2:"   // SMT-LIB 2
)

// Is reports whether a solver's name means a program.
func Is(name string) bool {
	return slices.ContainsFunc([]string{Auto, ForceDIMACS, ForceGNF, ForceSMT}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// ErrNotFound is the error for a program that is not on the PATH.
var ErrNotFound = errors.New("no such program on the PATH")

// dimacsNames are programs known to read DIMACS.
var dimacsNames = []string{"minisat", "glucose", "kissat", "cadical", "lingeling", "cryptominisat", "picosat", "gini",
	"maplesat", "sat4j"}

// smtNames are programs known to read SMT-LIB.
var smtNames = []string{"z3", "cvc4", "cvc5", "yices", "mathsat", "opensmt"}

// Parse parses a solver's name: a prefix, then a command line, split at blanks.
func Parse(name string) (*Program, error) {
	prefix, command, _ := strings.Cut(name, ":")
	words := strings.Fields(command)
	if !Is(name) || len(words) == 0 {
		return nil, fmt.Errorf("solver %q; expected %sCOMMAND, %sCOMMAND, %sCOMMAND or %sCOMMAND", name, Auto,
			ForceDIMACS, ForceGNF, ForceSMT)
	}
	p := &Program{Name: name, Args: words[1:]}
	base := strings.ToLower(filepath.Base(words[0]))
	known := func(n string) bool { return strings.HasPrefix(base, n) }
	switch prefix + ":" {
	case ForceGNF:
		p.Format = GNF
	case ForceSMT:
		p.Format = SMT
	case Auto:
		switch {
		case slices.ContainsFunc(dimacsNames, known), known("z3") && slices.Contains(p.Args, "-dimacs"):
		case slices.ContainsFunc(smtNames, known):
			p.Format = SMT
		default:
			p.Format = GNF
		}
	}
	var err error
	if p.Path, err = exec.LookPath(words[0]); err != nil {
		if st, err := os.Stat(words[0]); err == nil && filepath.Base(words[0]) != words[0] {
			what := "a file that may not be executed"
			if st.IsDir() {
				what = "a folder"
			}
			return nil, fmt.Errorf("solver %q: %s is %s; expected a program", name, words[0], what)
		}
		return nil, fmt.Errorf("solver %q: %w: %s", name, ErrNotFound, words[0])
	}
	if p.Path, err = filepath.Abs(p.Path); err != nil {
		return nil, err
	}
	if known("monosat") && !slices.Contains(p.Args, "-witness") {
		p.Args = append([]string{"-witness"}, p.Args...)
	}
	if text := strings.Join(p.Args, " "); !strings.Contains(text, "{in}") && (len(p.Args) == 0 ||
		p.Args[len(p.Args)-1] != "-") {
		p.Args = append(slices.Clone(p.Args), "{in}")
		if known("minisat") || known("glucose") {
			p.Args = append(p.Args, "{out}")
		}
	}
	return p, nil
}

// model is a program's answer; the literals are those that are true.
type model struct {
	status solver.Status
	lits   []solver.Lit
}

// waitAfterKill is how long a killed program may keep its output open.
const waitAfterKill = time.Second

// run writes the input, runs the program until it or the context ends, and reads its answer. If the context ends, the
// status is Unknown, without an error.
func (p *Program) run(ctx context.Context, write func(io.Writer) error) (model, error) {
	dir, err := os.MkdirTemp("", "isovet-external-")
	if err != nil {
		return model{}, err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in.cnf"), filepath.Join(dir, "out.txt")
	if p.Format == SMT {
		in = filepath.Join(dir, "in.smt2") // some programs choose the language by the extension
	}
	f, err := os.Create(in)
	if err != nil {
		return model{}, err
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return model{}, err
	}
	args := slices.Clone(p.Args)
	for i := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "{in}", in), "{out}", out)
	}
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.WaitDelay = waitAfterKill
	if n := len(args); n > 0 && args[n-1] == "-" {
		text, err := os.Open(in)
		if err != nil {
			return model{}, err
		}
		defer text.Close()
		cmd.Stdin = text
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ran := cmd.Run()
	if ctx.Err() != nil {
		return model{}, nil
	}
	exit := 0
	if ran != nil {
		e, ok := errors.AsType[*exec.ExitError](ran)
		if !ok {
			return model{}, fmt.Errorf("%s: %w", p.Name, ran)
		}
		// Some SMT solvers end with 1 when asked for the model after unsat.
		if exit = e.ExitCode(); exit != 10 && exit != 20 && (p.Format != SMT || exit != 1) {
			return model{}, fmt.Errorf("%s: %w%s", p.Name, ran, LastLine(stderr.String()+stdout.String()))
		}
	}
	text := stdout.String()
	if b, err := os.ReadFile(out); err == nil {
		text += "\n" + string(b)
	}
	return p.answer(text, exit)
}

// answer takes the answer from the program's output or, failing that, its exit status.
func (p *Program) answer(text string, exit int) (model, error) {
	read := parse
	if p.Format == SMT {
		read = parseSMT
	}
	m, err := read(text)
	if err != nil {
		return model{}, fmt.Errorf("%s: %w", p.Name, err)
	}
	if m.status == solver.Unknown {
		switch exit {
		case 10:
			m.status = solver.Sat
		case 20:
			m.status = solver.Unsat
		default:
			return model{}, fmt.Errorf("%s: it prints neither SATISFIABLE nor UNSATISFIABLE%s", p.Name, LastLine(text))
		}
	}
	return m, nil
}

// ParseAnswer parses an answer of a program that was run by hand: the program's output, or a model in SMT-LIB's form
// with variables v1, v2, …, as packages encode and external number them. The literals are those that are true.
func ParseAnswer(text string) (solver.Status, []solver.Lit, error) {
	if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); strings.TrimSpace(first) == "unsat" {
		return solver.Unsat, nil, nil // SMT-LIB: what follows is the error that there is no model
	}
	if strings.Contains(text, "define-fun") {
		lits, err := definitions(text)
		if err != nil {
			return solver.Unknown, nil, err
		}
		return solver.Sat, lits, nil
	}
	m, err := parse(text)
	if err == nil && m.status == solver.Unknown && len(m.lits) > 0 {
		m.status = solver.Sat // a model alone
	}
	return m.status, m.lits, err
}

// parse parses a program's output.
func parse(text string) (model, error) {
	var m model
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, competition := strings.CutPrefix(line, "s ")
		said := solver.Unknown
		switch strings.TrimSpace(rest) {
		case "SATISFIABLE", "SAT":
			said = solver.Sat
		case "UNSATISFIABLE", "UNSAT":
			said = solver.Unsat
		}
		if said != solver.Unknown {
			if m.status != solver.Unknown && m.status != said {
				return model{}, errors.New("it prints both SATISFIABLE and UNSATISFIABLE")
			}
			m.status = said
			continue
		}
		if competition || line == "" || line[0] == 'c' {
			continue
		}
		numbers, isModel := strings.CutPrefix(line, "v ")
		if !isModel && strings.Trim(line, "-0123456789 \t") != "" {
			continue // other output
		}
		for w := range strings.FieldsSeq(numbers) {
			n, err := strconv.Atoi(w)
			if err != nil || n < -1<<30 || n > 1<<30 {
				return model{}, fmt.Errorf("its model has %q; expected a literal", w)
			}
			if n != 0 {
				m.lits = append(m.lits, solver.FromDimacs(n))
			}
		}
	}
	return m, nil
}

// values returns the model's values of so many variables (false where the program left one out), checked against the
// clauses.
func (m *model) values(p *Program, vars int, clauses [][]solver.Lit) ([]bool, error) {
	value := make([]bool, vars)
	for _, l := range m.lits {
		if int(l.Var()) < vars {
			value[l.Var()] = !l.IsNeg()
		}
	}
	for i, c := range clauses {
		if !slices.ContainsFunc(c, func(l solver.Lit) bool { return value[l.Var()] != l.IsNeg() }) {
			return nil, fmt.Errorf("%s: its model does not satisfy clause %d of %d", p.Name, i+1, len(clauses))
		}
	}
	return value, nil
}

// LastLine returns the last line of a text, after a colon, or "" if there is none. It is for errors: characters that a
// terminal would take for commands are quoted, and the rest of a long line is left out.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	const most = 200
	cut := ""
	if len(last) > most {
		n := most
		for n > 0 && !utf8.RuneStart(last[n]) {
			n--
		}
		last, cut = last[:n], "…"
	}
	if !utf8.ValidString(last) || strings.ContainsFunc(last, func(c rune) bool { return !unicode.IsPrint(c) }) {
		last = strconv.Quote(last)
	}
	return ": " + last + cut
}

// Backend solves formulas by running a program on DIMACS. Each Solve is a new run, with the assumptions as unit
// clauses.
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

// AddClause adds a clause; it returns false for the empty one.
func (b *Backend) AddClause(lits ...solver.Lit) bool {
	b.cnf.Clauses = append(b.cnf.Clauses, append([]solver.Lit{}, lits...))
	return len(lits) > 0
}

// Solve runs the program. It returns Unknown if the context ended, or if Err tells what went wrong.
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

// Err returns what went wrong in the last Solve, other than the end of its context.
func (b *Backend) Err() error { return b.err }
