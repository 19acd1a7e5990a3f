package external

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"

	"isovet/solver"
)

// Edge is an edge that is in the graph if Lit is true.
type Edge struct {
	From, To int32
	Lit      solver.Lit
}

// Graph is a formula with a graph that must be acyclic.
type Graph struct {
	Vars    int
	Clauses [][]solver.Lit
	Nodes   int
	Known   [][2]int32 // edges that are always there
	Edges   []Edge
}

// WriteGNF writes a graph in MonoSAT's GNF: DIMACS, then "digraph", a line "edge" for each edge, and "acyclic", whose
// variable is made a fact.
//
// MonoSAT wants a variable, not a literal, for an edge, and a different one for each. So every edge has a new variable
// after those of the formula, implied by its literal; the converse is not needed, since an edge too many can only add
// cycles.
func WriteGNF(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	edges := len(g.Edges) + len(g.Known)
	fmt.Fprintf(b, "p cnf %d %d\n", g.Vars+edges+1, len(g.Clauses)+edges+1)
	var buf []byte
	clause := func(lits ...solver.Lit) {
		buf = buf[:0]
		for _, l := range lits {
			buf = append(strconv.AppendInt(buf, int64(l.Dimacs()), 10), ' ')
		}
		b.Write(append(buf, '0', '\n'))
	}
	for _, c := range g.Clauses {
		clause(c...)
	}
	first := solver.Var(g.Vars)
	for i, e := range g.Edges {
		clause(e.Lit.Not(), solver.Pos(first+solver.Var(i)))
	}
	for i := range g.Known {
		clause(solver.Pos(first + solver.Var(len(g.Edges)+i)))
	}
	acyclic := solver.Pos(first + solver.Var(edges))
	clause(acyclic)
	fmt.Fprintf(b, "digraph int %d %d 0\n", g.Nodes, edges)
	line := func(u, v int32, i int) {
		fmt.Fprintf(b, "edge 0 %d %d %d\n", u, v, solver.Pos(first+solver.Var(i)).Dimacs())
	}
	for i, e := range g.Edges {
		line(e.From, e.To, i)
	}
	for i, e := range g.Known {
		line(e[0], e[1], len(g.Edges)+i)
	}
	fmt.Fprintf(b, "acyclic 0 %d\n", acyclic.Dimacs())
	return b.Flush()
}

// Solve runs the program on the graph. The model, of the formula's own variables, satisfies the clauses; whether the
// graph is acyclic is not checked here.
func (g *Graph) Solve(ctx context.Context, p *Program) (solver.Status, []bool, error) {
	write := WriteGNF
	if p.Format == SMT {
		write = WriteSMT
	}
	m, err := p.run(ctx, func(w io.Writer) error { return write(w, g) })
	if err != nil || m.status != solver.Sat {
		return m.status, nil, err
	}
	value, err := m.values(p, g.Vars, g.Clauses)
	if err != nil {
		return solver.Unknown, nil, err
	}
	return solver.Sat, value, nil
}
