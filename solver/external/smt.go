package external

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"isovet/solver"
)

// WriteSMT writes a formula with its graph in SMT-LIB 2 (QF_IDL): variable i as v<i+1>, as DIMACS has it, and node i as
// the number n<i>; an edge says "less than". Cost: linear.
func WriteSMT(w io.Writer, g *Graph) error {
	b := bufio.NewWriter(w)
	b.WriteString("(set-logic QF_IDL)\n(set-option :produce-models true)\n")
	for v := range g.Vars {
		fmt.Fprintf(b, "(declare-fun v%d () Bool)\n", v+1)
	}
	for n := range g.Nodes {
		fmt.Fprintf(b, "(declare-fun n%d () Int)\n", n)
	}
	lit := func(l solver.Lit) string {
		if l.IsNeg() {
			return fmt.Sprintf("(not v%d)", l.Var()+1)
		}
		return "v" + strconv.Itoa(int(l.Var())+1)
	}
	for _, c := range g.Clauses {
		b.WriteString("(assert (or false")
		for _, l := range c {
			b.WriteByte(' ')
			b.WriteString(lit(l))
		}
		b.WriteString("))\n")
	}
	for _, e := range g.Known {
		fmt.Fprintf(b, "(assert (< n%d n%d))\n", e[0], e[1])
	}
	for _, e := range g.Edges {
		fmt.Fprintf(b, "(assert (=> %s (< n%d n%d)))\n", lit(e.Lit), e.From, e.To)
	}
	b.WriteString("(check-sat)\n(get-model)\n")
	return b.Flush()
}

// parseSMT parses a program's answer to WriteSMT: sat, unsat or unknown, then the model or an error that there is none.
func parseSMT(text string) (model, error) {
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case "sat":
			lits, err := definitions(text)
			return model{status: solver.Sat, lits: lits}, err
		case "unsat":
			return model{status: solver.Unsat}, nil
		case "unknown":
			return model{}, fmt.Errorf("it says unknown%s", LastLine(text))
		}
	}
	return model{}, fmt.Errorf("it prints neither sat nor unsat%s", LastLine(text))
}

// definitions parses (define-fun v3 () Bool true), wherever lines are broken.
func definitions(text string) (lits []solver.Lit, err error) {
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(text))
	for i, w := range words {
		if w != "define-fun" || i+3 >= len(words) || words[i+2] != "Bool" || !strings.HasPrefix(words[i+1], "v") {
			continue
		}
		n, err := strconv.Atoi(words[i+1][1:])
		if err != nil || n < 1 || n > 1<<30 {
			return nil, fmt.Errorf("the model has %q; expected a variable v1, v2, …", words[i+1])
		}
		switch words[i+3] {
		case "true":
		case "false":
			n = -n
		default:
			return nil, fmt.Errorf("the model gives %s the value %q; expected true or false", words[i+1], words[i+3])
		}
		lits = append(lits, solver.FromDimacs(n))
	}
	return lits, nil
}
