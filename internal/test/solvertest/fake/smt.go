package fake

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// smt turns what package external writes in SMT-LIB, a declaration or an assertion a line, into GNF, and says how many
// variables the formula has; those of its edges come behind.
func smt(in io.Reader) (gnf io.Reader, vars int, err error) {
	var clauses, edges []string
	nodes, last := 0, "" // last: what the text ends with
	literal := func(word string) (int, error) {
		sign, text := 1, word
		if t, ok := strings.CutPrefix(word, "(not "); ok {
			sign, text = -1, strings.TrimSuffix(t, ")")
		}
		n := 0
		if _, err := fmt.Sscanf(text, "v%d", &n); err != nil || n < 1 || n > vars {
			return 0, fmt.Errorf("%q: expected a literal", word)
		}
		return sign * n, nil
	}
	type guarded struct{ lit, from, to int } // lit 0: always
	var there []guarded
	for sc := bufio.NewScanner(in); sc.Scan(); {
		line, n := sc.Text(), 0
		var e guarded
		last = line
		switch {
		case strings.HasPrefix(line, "(set-"), line == "(check-sat)", line == "(get-model)":
		case strings.HasSuffix(line, "() Bool)"):
			vars++
			if _, err := fmt.Sscanf(line, "(declare-fun v%d ()", &n); err != nil || n != vars {
				return nil, 0, fmt.Errorf("%q: expected variable %d", line, vars)
			}
		case strings.HasSuffix(line, "() Int)"):
			if _, err := fmt.Sscanf(line, "(declare-fun n%d ()", &n); err != nil || n != nodes {
				return nil, 0, fmt.Errorf("%q: expected node %d", line, nodes)
			}
			nodes++
		case strings.HasPrefix(line, "(assert (or false"):
			text := strings.TrimSuffix(strings.TrimPrefix(line, "(assert (or false"), "))")
			clause := ""
			for word := range strings.FieldsSeq(strings.ReplaceAll(text, "(not ", "(not_")) {
				l, err := literal(strings.ReplaceAll(word, "(not_", "(not "))
				if err != nil {
					return nil, 0, err
				}
				clause += fmt.Sprint(l, " ")
			}
			clauses = append(clauses, clause+"0")
		case strings.HasPrefix(line, "(assert (=> "):
			guard, rest, _ := strings.Cut(strings.TrimPrefix(line, "(assert (=> "), " (< ")
			if e.lit, err = literal(guard); err != nil {
				return nil, 0, err
			}
			if _, err := fmt.Sscanf(rest, "n%d n%d)))", &e.from, &e.to); err != nil {
				return nil, 0, fmt.Errorf("%q: %w", line, err)
			}
			there = append(there, e)
		default:
			if _, err := fmt.Sscanf(line, "(assert (< n%d n%d))", &e.from, &e.to); err != nil {
				return nil, 0, fmt.Errorf("%q: %w", line, err)
			}
			there = append(there, e)
		}
	}
	if last != "(get-model)" {
		return nil, 0, fmt.Errorf("the text ends with %q", last)
	}
	acyclic := vars + len(there) + 1
	for i, e := range there {
		own := vars + i + 1 // the edge's variable
		if e.lit == 0 {
			clauses = append(clauses, fmt.Sprintf("%d 0", own))
		} else {
			clauses = append(clauses, fmt.Sprintf("%d %d 0", -e.lit, own))
		}
		edges = append(edges, fmt.Sprintf("edge 0 %d %d %d", e.from, e.to, own))
	}
	clauses = append(clauses, fmt.Sprintf("%d 0", acyclic))
	text := fmt.Sprintf("p cnf %d %d\n%s\ndigraph int %d %d 0\n%s\nacyclic 0 %d\n", acyclic, len(clauses),
		strings.Join(clauses, "\n"), nodes, len(edges), strings.Join(edges, "\n"), acyclic)
	return strings.NewReader(text), vars, nil
}

// saySMT answers as solvers of SMT-LIB do; model nil: unsatisfiable, and that there is no model is an error.
func saySMT(model []int, vars int) int {
	if model == nil {
		fmt.Println("unsat\n(error \"line 9 column 10: model is not available\")")
		return 1
	}
	fmt.Println("sat\n(")
	for _, l := range model[:min(vars, len(model))] {
		fmt.Printf("  (define-fun v%d () Bool\n    %v)\n", max(l, -l), l > 0)
	}
	fmt.Println("  (define-fun n0 () Int\n    (- 1))\n)")
	return 0
}
