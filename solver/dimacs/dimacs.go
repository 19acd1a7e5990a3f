// Package dimacs writes formulas in DIMACS CNF.
//
//	c a comment
//	p cnf 3 2
//	1 -3 0
//	2 3 -1 0
//
// Variable n of the file is [solver.Var] n−1.
//
// Experimental: this package may still change.
package dimacs

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"isovet/solver"
)

// CNF is a formula.
type CNF struct {
	Vars    int
	Clauses [][]solver.Lit
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
