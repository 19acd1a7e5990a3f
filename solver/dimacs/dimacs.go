// Package dimacs reads and writes formulas in DIMACS CNF.
//
//	c a comment
//	p cnf 3 2
//	1 -3 0
//	2 3 -1 0
//
// Variable n of the file is [solver.Var] n−1. A clause may span lines, several may share one. Read is
// strict where a slip would change the formula: the header must be there, its numbers must be right, and
// the last clause must end. A line "%" ends the file, as in the SATLIB sets.
//
// Experimental: this package may still change.
package dimacs

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"isovet/solver"
)

// CNF is a formula.
type CNF struct {
	Vars    int
	Clauses [][]solver.Lit
}

// Error says what is wrong with a file, and where.
type Error struct {
	Line int // from 1
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// maxVars keeps literals in 32 bits, clear of LitUndef and LitNone.
const maxVars = 1<<30 - 1

// Read reads a formula. An error about the text is an [*Error]; others are r's.
func Read(r io.Reader) (*CNF, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 1<<30)
	var f *CNF
	want := 0
	var clause []solver.Lit
	line, begun := 0, 0
	fail := func(format string, args ...any) (*CNF, error) {
		return nil, &Error{line, fmt.Sprintf(format, args...)}
	}
lines:
	for sc.Scan() {
		line++
		text := strings.TrimSpace(sc.Text())
		switch {
		case text == "" || text[0] == 'c':
			continue
		case text[0] == '%':
			break lines
		case text[0] == 'p':
			if f != nil {
				return fail("a second header %q", text)
			}
			var err error
			if f, want, err = header(text); err != nil {
				return fail("%v", err)
			}
			continue
		}
		if f == nil {
			return fail("a clause before the header \"p cnf <variables> <clauses>\"")
		}
		for w := range strings.FieldsSeq(text) {
			n, err := strconv.Atoi(w)
			if err != nil {
				return fail("literal %q: expected a number", w)
			}
			if n < -f.Vars || n > f.Vars {
				return fail("literal %d: the header announces %d variables", n, f.Vars)
			}
			if n != 0 {
				if len(clause) == 0 {
					begun = line
				}
				clause = append(clause, solver.FromDimacs(n))
				continue
			}
			if len(f.Clauses) == want {
				return fail("more than the %d clauses that the header announces", want)
			}
			f.Clauses = append(f.Clauses, append([]solver.Lit{}, clause...))
			clause = clause[:0]
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("after line %d: %w", line, err)
	}
	if f == nil {
		return fail("no header \"p cnf <variables> <clauses>\"")
	}
	if len(clause) > 0 {
		line = begun
		return fail("the last clause does not end with 0")
	}
	if len(f.Clauses) != want {
		return fail("%d clauses, the header announces %d", len(f.Clauses), want)
	}
	return f, nil
}

// header reads the line "p cnf <variables> <clauses>".
func header(text string) (f *CNF, clauses int, err error) {
	w := strings.Fields(text)
	if len(w) != 4 || w[0] != "p" || w[1] != "cnf" {
		return nil, 0, fmt.Errorf("header %q: expected \"p cnf <variables> <clauses>\"", text)
	}
	vars, err := strconv.Atoi(w[2])
	if err != nil || vars < 0 || vars > maxVars {
		return nil, 0, fmt.Errorf("number of variables %q: expected 0 to %d", w[2], maxVars)
	}
	clauses, err = strconv.Atoi(w[3])
	if err != nil || clauses < 0 {
		return nil, 0, fmt.Errorf("number of clauses %q: expected a number from 0", w[3])
	}
	return &CNF{Vars: vars}, clauses, nil
}

// Write writes a formula, one clause a line. Literals must be of its variables.
func Write(w io.Writer, f *CNF) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "p cnf %d %d\n", f.Vars, len(f.Clauses))
	var buf []byte
	for i, c := range f.Clauses {
		buf = buf[:0]
		for _, l := range c {
			if int(l.Var()) >= f.Vars {
				return fmt.Errorf("clause %d: literal %v, but there are %d variables", i, l, f.Vars)
			}
			buf = strconv.AppendInt(buf, int64(l.Dimacs()), 10)
			buf = append(buf, ' ')
		}
		buf = append(buf, '0', '\n')
		b.Write(buf)
	}
	return b.Flush()
}

// Load makes the formula's variables in b and adds its clauses. It returns false if b found the formula
// unsatisfiable on the way. Variable v of the formula becomes first+v.
func (f *CNF) Load(b solver.Backend) (first solver.Var, ok bool) {
	first = b.NewVars(f.Vars)
	ok = true
	var c []solver.Lit
	for _, lits := range f.Clauses {
		c = c[:0]
		for _, l := range lits {
			c = append(c, l+solver.Lit(2*first))
		}
		ok = b.AddClause(c...) && ok
	}
	return first, ok
}
