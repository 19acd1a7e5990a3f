package solver_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	formulas "isovet/internal/test/solvertest/cnf"
	"isovet/solver"
	"isovet/solver/dimacs"
)

func TestDIMACSWriteErrors(t *testing.T) {
	if err := dimacs.Write(&bytes.Buffer{}, &dimacs.CNF{Vars: 1, Clauses: [][]solver.Lit{{2}}}); err == nil {
		t.Error("a literal of no variable is written")
	}
	if err := dimacs.Write(failing{}, &dimacs.CNF{Vars: 3, Clauses: [][]solver.Lit{{0, 5}, {}, {2}}}); err == nil {
		t.Error("an error of the writer is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestDIMACSRoundTrip(t *testing.T) {
	randtest.Seeds(t, 300, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := &dimacs.CNF{Vars: 1 + r.IntN(50)}
		for range r.IntN(40) {
			c := []solver.Lit{}
			for range r.IntN(6) {
				c = append(c, solver.Lit(r.IntN(2*f.Vars)))
			}
			f.Clauses = append(f.Clauses, c)
		}
		var b bytes.Buffer
		must.OK(t, dimacs.Write(&b, f), "seed %d", seed)
		got, err := formulas.Read(&b)
		if err != nil || got.Vars != f.Vars || fmt.Sprint(got.Clauses) != fmt.Sprint(f.Clauses) {
			t.Fatalf("seed %d: %+v became %+v, %v", seed, f, got, err)
		}
	})
}
