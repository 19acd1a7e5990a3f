package solver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/internal/slice"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
)

func proofRandom3SAT(seed uint64, vars int) [][]solver.Lit {
	r := rand.New(rand.NewPCG(seed, 5))
	var out [][]solver.Lit
	for range 5 * vars {
		p := r.Perm(vars)[:3]
		c := slice.Map(p, func(v int) solver.Lit { return solver.MkLit(solver.Var(v), r.IntN(2) == 0) })
		out = append(out, c)
	}
	return out
}

func refute(cnf [][]solver.Lit, vars int, p solver.Proof) solver.Status {
	s := solver.New(solver.Options{Proof: p, ReduceFirst: 50, ReduceGrowth: 5})
	s.NewVars(vars)
	for _, c := range cnf {
		s.AddClause(c...)
	}
	return s.Solve(context.Background())
}

// What is written can be read and checks; a formula with a clause less does not accept the proof, and a
// proof without its learned clauses mostly fails.
func TestProofText(t *testing.T) {
	refuted, broken := 0, 0
	randtest.Seeds(t, 60, func(t testing.TB, seed uint64) {
		cnf := proofRandom3SAT(seed, 60)
		var text bytes.Buffer
		w := proof.NewWriter(&text)
		status := refute(cnf, 60, w)
		must.OK(t, w.Flush())
		err := proof.Check(bytes.NewReader(text.Bytes()), cnf)
		if status == solver.Sat {
			if !errors.Is(err, proof.ErrNotRefuted) {
				t.Fatalf("seed %d: satisfiable, but the check says %v", seed, err)
			}
			return
		}
		refuted++
		must.OK(t, err, "seed %d", seed)
		if err := proof.Check(bytes.NewReader(text.Bytes()), cnf[1:]); err == nil {
			t.Fatalf("seed %d: a proof from a clause that is not in the formula is accepted", seed)
		}
		// Keep the input and the last line only.
		var short strings.Builder
		for line := range strings.Lines(text.String()) {
			if line[0] == 'i' {
				short.WriteString(line)
			}
		}
		short.WriteString("0\n")
		if proof.Check(strings.NewReader(short.String()), cnf) != nil {
			broken++
		}
	})
	if randtest.Whole() && refuted < 20 || refuted == 0 || broken != refuted {
		t.Fatalf("%d refuted, of which %d need their learned clauses", refuted, broken)
	}
}

func TestProofFaults(t *testing.T) {
	good := "i 1 2 0\ni 1 -2 0\nc comment\n\ni -1 2 0\nt -1 -2 0\n1 0\nd 1 2 0\n0\n"
	var c proof.Checker
	if err := c.Read(strings.NewReader(good)); err != nil || !c.Refuted() || len(c.Last()) != 0 {
		t.Fatal(err, c.Refuted())
	}
	for _, f := range []struct{ text, msg string }{
		{"i 1 2 0\n1 0\n", "line 2: step 2: clause [1] does not follow"},
		{"i 1 2 0\n0\n", "does not follow"},
		{"i 1 2 0\nd 1 0\n", "line 2: step 2: clause [1] is deleted but not present"},
		{"i 1 2 0\nd 2 1 0\nd 1 2 0\n", "line 3"},
		{"i 1 2\n", "line 1: the clause does not end with 0"},
		{"i 1 0 2 0\n", "line 1: \"2\""},
		{"i 1 x 0\n", "line 1: \"x\""},
		{"i 99999999999 0\n", "line 1"},
		{"i 1 0\ni 1 2 0\nd 1 0\n-2 0\n", "does not follow"},
	} {
		var c proof.Checker
		err := c.Read(strings.NewReader(f.text))
		if err == nil || !strings.Contains(err.Error(), f.msg) || c.Refuted() {
			t.Errorf("%q: %v, expected %q", f.text, err, f.msg)
		}
	}
	err := proof.Check(strings.NewReader("t 1 0\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "no theory") {
		t.Errorf("a lemma without a theory: %v", err)
	}
	w := proof.NewWriter(proofFailing{})
	for range 1 << 16 {
		w.Learn([]solver.Lit{1, 2, 3})
	}
	if w.Flush() == nil {
		t.Error("an error of the writer is lost")
	}
}

type proofFailing struct{}

func (proofFailing) Write([]byte) (int, error) { return 0, errors.New("full") }

// The checker's propagation against the definition: a clause is accepted iff a naive closure under unit
// clauses of the formula and the negated clause reaches a contradiction.
func TestProofFollowsNaive(t *testing.T) {
	yes, no := 0, 0
	randtest.Seeds(t, 3000, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 8))
		vars := 2 + r.IntN(6)
		clause := func(most int) []solver.Lit {
			var c []solver.Lit
			for range r.IntN(most + 1) {
				c = append(c, solver.Lit(r.IntN(2*vars)))
			}
			return c
		}
		var c proof.Checker
		var present [][]solver.Lit
		for step := range 25 {
			switch r.IntN(4) {
			case 0, 1, 2:
				l := append(clause(2), solver.Lit(r.IntN(2*vars)))
				c.Input(l)
				present = append(present, l)
			default:
				l := clause(3)
				want := naiveFollows(present, l, vars)
				c.Learn(l)
				if want {
					yes++
					if c.Err() != nil {
						t.Fatalf("seed %d, step %d: %v; the definition accepts it", seed, step, c.Err())
					}
					present = append(present, l)
				} else {
					no++
					if c.Err() == nil {
						t.Fatalf("seed %d, step %d: %v is accepted, the definition refuses it", seed, step, l)
					}
				}
			}
			if c.Err() != nil {
				break
			}
		}
	})
	if randtest.Whole() && (yes < 1000 || no < 1000) {
		t.Fatalf("one-sided test: %d, %d", yes, no)
	}
}

func naiveFollows(present [][]solver.Lit, c []solver.Lit, vars int) bool {
	val := map[solver.Lit]bool{}
	set := func(l solver.Lit) { val[l] = true }
	for _, l := range c {
		if val[l] {
			return true // a tautology
		}
		set(l.Not())
	}
	for range 2*vars + 1 {
		for _, cl := range present {
			open := map[solver.Lit]bool{}
			sat := false
			for _, l := range cl {
				if val[l] {
					sat = true
				} else if !val[l.Not()] {
					open[l] = true
				}
			}
			if sat {
				continue
			}
			if len(open) == 0 {
				return true
			}
			if len(open) == 1 {
				for l := range open {
					set(l)
				}
			}
		}
	}
	return false
}

func Example_proof() {
	var c proof.Checker
	s := solver.New(solver.Options{Proof: &c})
	v := s.NewVars(2)
	for _, l := range []solver.Lit{solver.Pos(v), solver.Neg(v)} {
		s.AddClause(l, solver.Pos(v+1))
		s.AddClause(l, solver.Neg(v+1))
	}
	fmt.Println(s.Solve(context.Background()), c.Refuted(), c.Err())
	// Output: unsat true <nil>
}
