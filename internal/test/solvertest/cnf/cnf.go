// Package cnf reads back the formulas that the tests have written as DIMACS CNF.
package cnf

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"isovet/solver"
	"isovet/solver/dimacs"
)

// Read reads a formula as dimacs.Write writes it.
func Read(r io.Reader) (*dimacs.CNF, error) {
	f, clauses := &dimacs.CNF{}, 0
	in := bufio.NewReader(r)
	if _, err := fmt.Fscanf(in, "p cnf %d %d\n", &f.Vars, &clauses); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	for range clauses {
		c := []solver.Lit{}
		for {
			var n int
			if _, err := fmt.Fscan(in, &n); err != nil {
				return nil, fmt.Errorf("clause %d: %w", len(f.Clauses)+1, err)
			}
			if n == 0 {
				break
			}
			if n < -f.Vars || n > f.Vars {
				return nil, fmt.Errorf("clause %d: literal %d of %d variables", len(f.Clauses)+1, n, f.Vars)
			}
			c = append(c, solver.FromDimacs(n))
		}
		f.Clauses = append(f.Clauses, c)
	}
	if rest, err := io.ReadAll(in); err != nil || strings.TrimSpace(string(rest)) != "" {
		return nil, fmt.Errorf("%q behind the last clause: %v", rest, err)
	}
	return f, nil
}
