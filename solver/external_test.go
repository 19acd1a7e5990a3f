package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/fake"
	"isovet/solver"
	"isovet/solver/external"
)

func TestMain(m *testing.M) {
	fake.Main()
	os.Exit(m.Run())
}

// program is this program as a solver.
func program(t *testing.T, prefix, mode, args string) *external.Program {
	t.Helper()
	t.Setenv(fake.Variable, mode)
	self := must.Get(os.Executable())(t)
	return must.Get(external.Parse(prefix + self + args))(t)
}

// protocols are the ways in which programs take formulas and say what they found.
var protocols = []struct{ mode, args string }{
	{"competition", ""}, {"competition", " -"}, {"monosat", " -witness"}, {"minisat", " {in} {out}"}, {"status", ""},
}

// TestExternalDIMACS: by every protocol, the same answers as our own solver, with models that hold.
func TestExternalDIMACS(t *testing.T) {
	for _, c := range protocols {
		p := program(t, external.ForceDIMACS, c.mode, c.args)
		var yes, no int
		randtest.Seeds(t, randtest.Long[uint64](10, 12), func(t testing.TB, seed uint64) {
			r := rand.New(rand.NewPCG(seed, 1))
			own, b := solver.New(solver.Options{}), external.New(p)
			own.NewVars(6)
			b.NewVars(6)
			for range 26 {
				var lits []solver.Lit
				for range 3 {
					lits = append(lits, solver.MkLit(solver.Var(r.IntN(6)), r.IntN(2) == 0))
				}
				own.AddClause(lits...)
				b.AddClause(lits...)
			}
			want, got := own.Solve(t.Context()), b.Solve(t.Context())
			if got != want || b.Err() != nil {
				t.Fatalf("%+v, seed %d: %v, %v; want %v", c, seed, got, b.Err(), want)
			}
			if got == solver.Sat {
				yes++
				a := solver.MkLit(0, b.Value(0)) // the other value of the first variable, as an assumption
				if b.Solve(t.Context(), a) == solver.Sat && b.Value(0) == a.IsNeg() {
					t.Errorf("%+v, seed %d: the assumption does not hold", c, seed)
				}
			} else {
				no++
			}
		})
		if randtest.Whole() && (yes == 0 || no == 0) {
			t.Errorf("%d satisfiable, %d not", yes, no)
		}
	}
}

// TestExternalGNF: the text, and answers by every protocol.
func TestExternalGNF(t *testing.T) {
	g := &external.Graph{Vars: 2, Clauses: [][]solver.Lit{{solver.Pos(0), solver.Pos(1)}}, Nodes: 3,
		Known: [][2]int32{{0, 1}},
		Edges: []external.Edge{{From: 1, To: 2, Lit: solver.Pos(0)}, {From: 2, To: 0, Lit: solver.Pos(0)},
			{From: 2, To: 1, Lit: solver.Neg(1)}}}
	var b strings.Builder
	must.OK(t, external.WriteGNF(&b, g))
	want := `p cnf 7 6
1 2 0
-1 3 0
-1 4 0
2 5 0
6 0
7 0
digraph int 3 4 0
edge 0 1 2 3
edge 0 2 0 4
edge 0 2 1 5
edge 0 0 1 6
acyclic 0 7
`
	must.Equal(t, b.String(), want, "written")
	for _, c := range protocols {
		p := program(t, external.Auto, c.mode, c.args)
		must.Same(t, p.Format, external.GNF, "%+v is no program that is known to read DIMACS", p)
		g.Clauses = g.Clauses[:1]
		status, model, err := g.Solve(t.Context(), p)
		if err != nil || status != solver.Sat || len(model) != 2 || model[0] || !model[1] {
			t.Errorf("%+v: %v, %v, %v; want false, true", c, status, model, err)
		}
		g.Clauses = append(g.Clauses, []solver.Lit{solver.Pos(0)})
		if status, _, err := g.Solve(t.Context(), p); err != nil || status != solver.Unsat {
			t.Errorf("%+v: %v, %v; want unsatisfiable", c, status, err)
		}
	}
}

// TestExternalSMT: the text, answers, and what is no answer.
func TestExternalSMT(t *testing.T) {
	g := &external.Graph{Vars: 2, Clauses: [][]solver.Lit{{solver.Pos(0), solver.Neg(1)}, {solver.Pos(1)}}, Nodes: 3,
		Known: [][2]int32{{0, 1}},
		Edges: []external.Edge{{From: 1, To: 2, Lit: solver.Pos(0)}, {From: 2, To: 0, Lit: solver.Neg(1)}}}
	var b strings.Builder
	must.OK(t, external.WriteSMT(&b, g))
	want := `(set-logic QF_IDL)
(set-option :produce-models true)
(declare-fun v1 () Bool)
(declare-fun v2 () Bool)
(declare-fun n0 () Int)
(declare-fun n1 () Int)
(declare-fun n2 () Int)
(assert (or false v1 (not v2)))
(assert (or false v2))
(assert (< n0 n1))
(assert (=> v1 (< n1 n2)))
(assert (=> (not v2) (< n2 n0)))
(check-sat)
(get-model)
`
	must.Equal(t, b.String(), want, "written")
	p := program(t, external.ForceSMT, "competition", "")
	status, model, err := g.Solve(t.Context(), p)
	if err != nil || status != solver.Sat || len(model) != 2 || !model[0] || !model[1] {
		t.Errorf("%v, %v, %v; want true, true", status, model, err)
	}
	g.Edges[1].Lit = solver.Pos(1) // 0, 1, 2 and back
	if status, _, err := g.Solve(t.Context(), p); err != nil || status != solver.Unsat {
		t.Errorf("%v, %v; want unsatisfiable", status, err)
	}
	for mode, want := range map[string]string{"crash": "out of cheese", "silent": "neither sat nor unsat",
		"all-false": "does not satisfy clause 2 of 2"} {
		if _, _, err := g.Solve(t.Context(), program(t, external.ForceSMT, mode, "")); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", mode, err, want)
		}
	}
}

// TestExternalBadPrograms: crashes, silence, wrong models and programs that do not end are errors, not answers.
func TestExternalBadPrograms(t *testing.T) {
	for mode, want := range map[string]string{"crash": "out of cheese", "silent": "neither SATISFIABLE nor",
		"all-false": "does not satisfy clause 1 of 1"} {
		b := external.New(program(t, external.ForceDIMACS, mode, ""))
		b.NewVars(1)
		b.AddClause(solver.Pos(0))
		if got := b.Solve(t.Context()); got != solver.Unknown || b.Err() == nil || !strings.Contains(b.Err().Error(),
			want) {
			t.Errorf("%s: %v, %v; want %q", mode, got, b.Err(), want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	b := external.New(program(t, external.ForceDIMACS, "hang", ""))
	b.NewVars(1)
	if got := b.Solve(ctx); got != solver.Unknown || b.Err() != nil {
		t.Errorf("%v, %v", got, b.Err())
	}
}

// TestExternalLastLine: of what a program printed last no control characters get into an error, and no endless line.
func TestExternalLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "",
		" \n\n":                        "",
		"v 1\nout of cheese \n":        ": out of cheese",
		"a\n\x1b[2Jb":                  `: "\x1b[2Jb"`,
		"\xff\x00":                     `: "\xff\x00"`,
		"é":                            ": é",
		`(error "x\y")`:                `: (error "x\y")`,
		strings.Repeat("é", 101):       ": " + strings.Repeat("é", 100) + "…",
		"x" + strings.Repeat("é", 101): ": x" + strings.Repeat("é", 99) + "…",
		strings.Repeat("x", 201):       ": " + strings.Repeat("x", 200) + "…",
	} {
		must.Equal(t, external.LastLine(text), want, "%q", text)
	}
}

func TestExternalParse(t *testing.T) {
	if _, err := external.Parse("external:no-such-program-here -x"); !errors.Is(err, external.ErrNotFound) ||
		!strings.Contains(err.Error(), "no-such-program-here") {
		t.Error(err)
	}
	for _, name := range []string{"external:", "gini", "external-dimacs: "} {
		if _, err := external.Parse(name); err == nil || !strings.Contains(err.Error(), "expected external:COMMAND") {
			t.Errorf("%q: %v", name, err)
		}
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	for command, want := range map[string]struct {
		format external.Format
		args   string
	}{
		"minisat":               {external.DIMACS, "{in} {out}"},
		"glucose -model":        {external.DIMACS, "-model {in} {out}"},
		"kissat -q":             {external.DIMACS, "-q {in}"},
		"cadical -":             {external.DIMACS, "-"},
		"monosat":               {external.GNF, "-witness {in}"},
		"monosat -witness {in}": {external.GNF, "-witness {in}"},
		"anything --file={in}":  {external.GNF, "--file={in}"},
		"z3":                    {external.SMT, "{in}"},
		"z3 -dimacs":            {external.DIMACS, "-dimacs {in}"},
		"cvc5 --stats":          {external.SMT, "--stats {in}"},
	} {
		name, _, _ := strings.Cut(command, " ")
		must.OK(t, os.WriteFile(dir+"/"+name, []byte("#!/bin/sh\n"), 0o700))
		p, err := external.Parse("external:" + command)
		if err != nil || p.Format != want.format || strings.Join(p.Args, " ") != want.args {
			t.Errorf("%s: %+v, %v; want %+v", command, p, err, want)
		}
	}
}

// TestExternalParseAnswer: what solvers print by themselves, in the forms of SAT competitions, MiniSat and SMT-LIB.
func TestExternalParseAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"c x\ns SATISFIABLE\nv 1 -2\nv 3 0\n": "sat [1 -2 3]",
		"SAT\n1 -2 0\n":                       "sat [1 -2]",
		"1 -2 0\n":                            "sat [1 -2]",
		"s UNSATISFIABLE\n":                   "unsat []",
		"UNSAT\n":                             "unsat []",
		"unsat\n(error \"line 9: model is not available\")": "unsat []",
		"sat\n(\n  (define-fun v2 () Bool\n    false)\n  (define-fun n0 () Int\n    7)\n" +
			"  (define-fun v1 () Bool true)\n)\n": "sat [-2 1]",
		"":                                     "unknown []",
		"sat\n((define-fun v0 () Bool true))":  "error",
		"sat\n((define-fun v1 () Bool maybe))": "error",
	} {
		status, lits, err := external.ParseAnswer(text)
		numbers := slice.Map(lits, solver.Lit.Dimacs)
		got := strings.ToLower(fmt.Sprint(status)) + " " + fmt.Sprint(numbers)
		if err != nil {
			got = "error"
		}
		must.Equal(t, got, want, "%q, %v", text, err)
	}
}
