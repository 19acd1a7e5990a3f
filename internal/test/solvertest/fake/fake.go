// Package fake is a small solver to run as another program, so that tests of package external need none installed: a
// test program that calls [Main] first is one when the environment says so.
package fake

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"isovet/internal/test/solvertest/cnf"
	"isovet/solver"
)

// Variable names the environment variable that makes a test program a solver. Its values:
//
//	competition   "s SATISFIABLE", the model on "v" lines, exit status 10 or 20
//	monosat       the same with status 0
//	minisat       SATISFIABLE on standard output, "SAT" and the model in the second file, status 10 or 20
//	status        nothing but the exit status, and the model on bare lines
//	crash         status 3 and a message
//	silent        status 0 and nothing
//	hang          never ends by itself
//	all-false     satisfiable by the model of all zeros, whatever the input
//	unsat         unsatisfiable, whatever the input
//
// An input whose name ends in .smt2 is answered as SMT-LIB has it.
const Variable = "ISOVET_FAKE_SOLVER"

// Main does nothing unless the environment makes this program a solver; then it solves, and ends the program.
// Arguments: the input file or "-", and for minisat the file for the model.
func Main() {
	mode := os.Getenv(Variable)
	if mode == "" {
		return
	}
	code, err := run(mode, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake solver:", err)
		code = 3
	}
	os.Exit(code)
}

func run(mode string, args []string) (int, error) {
	inSMT := len(args) > 0 && strings.HasSuffix(args[0], ".smt2")
	if inSMT && mode == "unsat" {
		return saySMT(nil, 0), nil
	}
	if inSMT && mode == "all-false" {
		return saySMT([]int{-1}, 1), nil
	}
	switch mode {
	case "crash":
		return 0, fmt.Errorf("out of cheese")
	case "silent":
		return 0, nil
	case "hang":
		time.Sleep(time.Hour)
	case "unsat":
		fmt.Println("s UNSATISFIABLE")
		return 20, nil
	case "all-false":
		fmt.Println("s SATISFIABLE\nv 0")
		return 10, nil
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-witness" })
	if len(args) == 0 {
		return 0, fmt.Errorf("no input")
	}
	in := io.Reader(os.Stdin)
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return 0, err
		}
		defer f.Close()
		in = f
	}
	vars := 0
	if inSMT {
		var err error
		if in, vars, err = smt(in); err != nil {
			return 0, err
		}
	}
	model, err := solve(in)
	if err != nil {
		return 0, err
	}
	if inSMT {
		return saySMT(model, vars), nil
	}
	word, code := "UNSATISFIABLE", 20
	if model != nil {
		word, code = "SATISFIABLE", 10
	}
	numbers := strings.Trim(fmt.Sprint(model), "[]")
	switch mode {
	case "minisat":
		fmt.Println("CPU time : 0 s\n\n" + word)
		if len(args) != 2 {
			return 0, fmt.Errorf("%d arguments; expected input and output", len(args))
		}
		text := strings.Replace(word, "ISFIABLE", "", 1) + "\n"
		if model != nil {
			text += numbers + " 0\n"
		}
		return code, os.WriteFile(args[1], []byte(text), 0o600)
	case "status":
		if model != nil {
			fmt.Println(numbers + " 0")
		}
		return code, nil
	}
	fmt.Println("c a comment with SATISFIABLE in it\ns " + word)
	if model != nil {
		fmt.Println("v " + numbers + "\nv 0")
	}
	if mode == "monosat" {
		code = 0
	}
	return code, nil
}

// solve solves DIMACS or GNF, by forbidding one cycle after the other; nil: unsatisfiable. The model has all variables.
func solve(in io.Reader) ([]int, error) {
	var text bytes.Buffer
	var edges [][3]int // from, to, variable
	acyclic, nodes := 0, 0
	for sc := bufio.NewScanner(in); sc.Scan(); {
		line, graph := sc.Text(), 0
		switch word, _, _ := strings.Cut(line, " "); word {
		case "digraph":
			n := 0
			if _, err := fmt.Sscanf(line, "digraph int %d %d %d", &nodes, &n, &graph); err != nil || graph != 0 {
				return nil, fmt.Errorf("%q: %v", line, err)
			}
		case "edge":
			var e [3]int
			if _, err := fmt.Sscanf(line, "edge %d %d %d %d", &graph, &e[0], &e[1], &e[2]); err != nil ||
				e[0] >= nodes || e[1] >= nodes || e[2] < 1 {
				return nil, fmt.Errorf("%q: %v", line, err)
			}
			if slices.ContainsFunc(edges, func(f [3]int) bool { return f[2] == e[2] }) {
				return nil, fmt.Errorf("%q: two edges of one variable", line)
			}
			edges = append(edges, e)
		case "acyclic":
			if _, err := fmt.Sscanf(line, "acyclic %d %d", &graph, &acyclic); err != nil {
				return nil, fmt.Errorf("%q: %v", line, err)
			}
		default:
			text.WriteString(line + "\n")
		}
	}
	f, err := cnf.Read(&text)
	if err != nil {
		return nil, err
	}
	s := solver.New(solver.Options{})
	s.NewVars(f.Vars)
	ok := true
	for _, c := range f.Clauses {
		ok = s.AddClause(c...) && ok
	}
	for ok && s.Solve(context.Background()) == solver.Sat {
		value := func(n int) bool { return s.Value(solver.Var(n - 1)) }
		var cycle []solver.Lit
		if acyclic > 0 && value(acyclic) {
			cycle = findCycle(nodes, edges, value)
		}
		if cycle == nil {
			model := make([]int, f.Vars)
			for i := range model {
				if model[i] = i + 1; !value(i + 1) {
					model[i] = -i - 1
				}
			}
			return model, nil
		}
		ok = s.AddClause(append(cycle, solver.FromDimacs(-acyclic))...)
	}
	return nil, nil
}

// findCycle returns a clause against a cycle of the edges that are there, or nil.
func findCycle(nodes int, edges [][3]int, there func(int) bool) []solver.Lit {
	for _, first := range edges {
		if !there(first[2]) {
			continue
		}
		from := make([]int, nodes) // edge+1 by which a node was reached from the first edge's head
		queue := []int{first[1]}
		seen := make([]bool, nodes)
		seen[first[1]] = true
		for len(queue) > 0 && !seen[first[0]] {
			u := queue[0]
			queue = queue[1:]
			for i, e := range edges {
				if e[0] == u && !seen[e[1]] && there(e[2]) {
					seen[e[1]], from[e[1]] = true, i+1
					queue = append(queue, e[1])
				}
			}
		}
		if !seen[first[0]] {
			continue
		}
		clause := []solver.Lit{solver.FromDimacs(-first[2])}
		for u := first[0]; u != first[1]; u = edges[from[u]-1][0] {
			clause = append(clause, solver.FromDimacs(-edges[from[u]-1][2]))
		}
		return clause
	}
	return nil
}
