package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/cnf"
	"isovet/level"
	"isovet/solver"
)

// TestFormula: the formula of a history is satisfiable exactly if brute force finds an order, with each encoding,
// pruned or not, by its clauses alone, read back from its text, or with its graph; a model becomes a certified order.
func TestFormula(t *testing.T) {
	var yes, no, based, listed, open int
	ctx := context.Background()
	tried := histtest.Search{N: 700, Long: 50_000,
		Make: func(seed uint64) []byte {
			return histtest.Random(seed, histtest.Shape{Txns: 5, Kinds: []histtest.Kind{histtest.Registers,
				histtest.Lists, histtest.Predicates}})
		},
		Judge: func(text []byte) error {
			h, err := histtest.Read(text)
			if err != nil {
				return nil
			}
			o := Options{Level: run.OrderLevels[len(text)%len(run.OrderLevels)]}
			want, err := Run(ctx, bruteForce{}, h, o)
			if err != nil || want.Verdict == evidence.Unknown {
				return err
			}
			for i, enc := range FormulaEncodings() {
				o.Pipeline.Encoding = enc
				how := (len(text) + i) % 3 // pairs, numbers, or the graph's own
				q, why, err := NewFormula(ctx, h, FormulaOptions{Options: o, Pruned: len(text)%4 == 0, Eager: how == 0})
				if err != nil {
					return err
				}
				if why != "" {
					for _, part := range []string{"the formula cannot leave it open", "time",
						"appended once",
						"every outcome must be known"} {
						if strings.Contains(why, part) {
							return nil
						}
					}
					return fmt.Errorf("no formula: %s", why)
				}
				status, lits, err := solveFormula(ctx, q, how)
				if h.HasLists() {
					listed++
				}
				if q.P.OpenOutcomes() {
					open++
				}
				if err != nil {
					return err
				}
				if (status == solver.Sat) != (want.Verdict == evidence.Holds) {
					return fmt.Errorf("%s, %s, way %d: %v; brute force says %v", o.Level, enc, how, status,
						want.Verdict)
				}
				if status == solver.Unsat {
					no++
					continue
				}
				if yes++; h.HasPredicates() {
					based += q.Vars
				}
				if _, err := q.Decode(lits, 0); err != nil {
					return err
				}
				if len(q.Clauses) > 0 && q.Vars > 0 {
					for i := range lits {
						lits[i] = lits[i].Not()
					}
					if _, err := q.Decode(lits, 0); err != nil && isFault(err) {
						return fmt.Errorf("a wrong model is a fault: %w", err)
					}
				}
			}
			return nil
		},
	}.Run(t)
	t.Logf("%d satisfiable, %d not, %d variables beside predicate operations, %d of lists, %d of open outcomes",
		yes, no, based, listed, open)
	if !t.Failed() && tried >= 700 && (yes < 100 || no < 20 || based == 0 || listed < 50 || open == 0) {
		t.Error("too few")
	}
}

func isFault(err error) bool { _, ok := err.(*Fault); return ok }

// solveFormula solves a formula as a program would that gets its text.
func solveFormula(ctx context.Context, q *Formula, how int) (solver.Status, []solver.Lit, error) {
	var lits []solver.Lit
	if how > 0 && q.Refuted == "" { // with its graph: the chosen edges are a model's guards
		var text, names bytes.Buffer
		for _, x := range encode.Exports()[1:] {
			if err := x.Write(&text, q.Problem); err != nil {
				return solver.Unknown, nil, err
			}
		}
		if err := encode.WriteMap(&names, q.Problem); err != nil {
			return solver.Unknown, nil, err
		}
		if n := strings.Count(names.String(), `{"var":`); n != q.Vars {
			return solver.Unknown, nil, fmt.Errorf("the map has %d of %d variables", n, q.Vars)
		}
		if how == 1 {
			q.Problem = encode.MakeNumbered(q.Problem)
		} else {
			q.Problem = encode.MakeEager(q.Problem)
		}
	}
	var text bytes.Buffer
	if err := encode.Exports()[0].Write(&text, q.Problem); err != nil {
		return solver.Unknown, nil, err
	}
	f, err := cnf.Read(&text)
	if err != nil {
		return solver.Unknown, nil, err
	}
	s := solver.New(solver.Options{})
	s.NewVars(f.Vars)
	ok := true
	for _, c := range f.Clauses {
		ok = s.AddClause(c...) && ok
	}
	if !ok {
		return solver.Unsat, nil, nil
	}
	status := s.Solve(ctx)
	for v := range f.Vars {
		if status == solver.Sat {
			lits = append(lits, solver.MkLit(solver.Var(v), !s.Value(solver.Var(v))))
		}
	}
	return status, lits, nil
}

// TestFormulaRefuses: what a formula does not express is reported.
func TestFormulaRefuses(t *testing.T) {
	read := func(text string) *history.History { return must.Get(histtest.Read([]byte(text)))(t) }
	for text, want := range map[string]string{
		`{"ops":[["a","x",1]]}` + "\n" + `{"ops":[["a","x",1]]}` + "\n" + `{"ops":[["r","x",[1]]]}`: "appended once",
		`{"ops":[["w","x",1]]}`: "causal",
	} {
		l := level.Serializable
		if want == "causal" {
			l = level.Causal
		}
		_, why, err := NewFormula(t.Context(), read(text), FormulaOptions{Options: Options{Level: l}})
		must.Be(t, err == nil && strings.Contains(why, want), "%s: %q, %v; want %q", text, why, err, want)
	}
}

// TestFormulaAnswers: "satisfiable" without a model is no model that fails, but none; a formula without variables needs
// none.
func TestFormulaAnswers(t *testing.T) {
	for text, want := range map[string]error{
		"w1": nil,
		"w2": ErrNoModel,
	} {
		lines := `{"session":0,"ops":[["w","x",1]]}` + "\n"
		if text == "w2" { // the order of two writes is open
			lines += `{"session":1,"ops":[["w","x",2]]}` + "\n"
		}
		h := must.Get(histtest.Read([]byte(lines)))(t)
		o := FormulaOptions{Options: Options{Level: level.Serializable}}
		q, why, err := NewFormula(t.Context(), h, o)
		if err != nil || why != "" {
			t.Fatal(why, err)
		}
		for _, answer := range []string{"s SATISFIABLE\n", "SAT\n", "sat\n(model (define-fun n0 () Int 3))\n",
			"s SATISFIABLE\nv 1000 -1001 0\n"} {
			if _, err := q.Read(answer, 0); !errors.Is(err, want) {
				t.Errorf("%s, %q: %v; want %v", text, answer, err, want)
			}
		}
	}
}
