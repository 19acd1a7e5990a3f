package dimacs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/solver"
	"isovet/solver/dimacs"
)

func Example() {
	f, err := dimacs.Read(strings.NewReader("c two clauses\np cnf 2 2\n1 2 0\n-1 0\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	s := solver.New(solver.Options{})
	f.Load(s)
	fmt.Println(s.Solve(context.Background()), s.Value(0), s.Value(1))
	// Output: sat false true
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		text, msg string
		line      int
	}{
		{"", "no header", 0},
		{"c x\n\n", "no header", 2},
		{"1 0\n", "before the header", 1},
		{"p cnf 1\n", "expected \"p cnf", 1},
		{"p dnf 1 1\n", "expected \"p cnf", 1},
		{"p cnf -1 1\n", "number of variables", 1},
		{"p cnf 99999999999 1\n", "number of variables", 1},
		{"p cnf 1 x\n", "number of clauses", 1},
		{"p cnf 1 1\np cnf 1 1\n", "second header", 2},
		{"p cnf 1 1\nc\n1 y 0\n", "literal \"y\"", 3},
		{"p cnf 1 1\n2 0\n", "announces 1 variables", 2},
		{"p cnf 1 1\n-2 0\n", "announces 1 variables", 2},
		{"p cnf 1 1\n1 0 1 0\n", "more than the 1 clauses", 2},
		{"p cnf 1 2\n1 0\n", "1 clauses, the header announces 2", 2},
		{"p cnf 2 2\n1 0\n1\n\n2\n", "does not end with 0", 3},
	} {
		_, err := dimacs.Read(strings.NewReader(c.text))
		var e *dimacs.Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%q: %v, expected line %d, %q", c.text, err, c.line, c.msg)
		}
	}
	broken := errors.New("broken")
	if _, err := dimacs.Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error of the reader is lost: %v", err)
	}
}

func TestForms(t *testing.T) {
	want := &dimacs.CNF{Vars: 3, Clauses: [][]solver.Lit{{0, 5}, {}, {2}}}
	for _, text := range []string{
		"p cnf 3 3\n1 -3 0\n0\n2 0\n",
		"c first\n  p  cnf  3  3  \n1\n-3 0 0 c2\n",
		"p cnf 3 3\r\n1 -3 0 0 2 0\r\n%\n0\n\n",
	} {
		got, err := dimacs.Read(strings.NewReader(text))
		if strings.Contains(text, "c2") {
			if err == nil {
				t.Errorf("%q: a comment inside a line is accepted", text)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if err := dimacs.Write(&bytes.Buffer{}, &dimacs.CNF{Vars: 1, Clauses: [][]solver.Lit{{2}}}); err == nil {
		t.Error("a literal of no variable is written")
	}
	if err := dimacs.Write(failing{}, want); err == nil {
		t.Error("an error of the writer is lost")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestRoundTrip(t *testing.T) {
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
		if err := dimacs.Write(&b, f); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got, err := dimacs.Read(&b)
		if err != nil || got.Vars != f.Vars || fmt.Sprint(got.Clauses) != fmt.Sprint(f.Clauses) {
			t.Fatalf("seed %d: %+v became %+v, %v", seed, f, got, err)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add("p cnf 3 3\n1 -3 0\n0\n2 0\n")
	f.Add("p cnf 1 1\n1 0\n%\n0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		got, err := dimacs.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		must.OK(t, dimacs.Write(&b, got))
		again, err := dimacs.Read(&b)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("%+v became %+v, %v", got, again, err)
		}
	})
}
