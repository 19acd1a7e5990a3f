package acyclic_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"isovet/closure"
	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/test/solvertest/proof"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// instance is a formula whose literals carry edges.
type instance struct {
	nodes   int
	known   []graph.Edge
	vars    int
	guards  []acyclic.Guard
	clauses [][]solver.Lit
}

func rng(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 99)) }

// random makes an instance in one of three shapes: choices with edges on both sides, edges on one side
// only, and a mixture with literals that carry several edges and edges with several literals.
func random(seed, maxNodes, maxVars int) instance {
	r := rng(seed)
	in := instance{nodes: 2 + r.IntN(maxNodes-1), vars: 1 + r.IntN(maxVars)}
	perm := r.Perm(in.nodes)
	for range r.IntN(in.nodes) {
		a, b := r.IntN(in.nodes), r.IntN(in.nodes)
		if a < b {
			in.known = append(in.known, graph.Edge{From: int32(perm[a]), To: int32(perm[b])})
		}
	}
	shape := seed % 3
	edge := func(l solver.Lit) {
		a, b := r.IntN(in.nodes), r.IntN(in.nodes)
		if a != b || r.IntN(20) == 0 {
			in.guards = append(in.guards, acyclic.Guard{Lit: l, From: int32(a), To: int32(b)})
		}
	}
	for v := range in.vars {
		switch shape {
		case 0:
			for range 1 + r.IntN(2) {
				edge(solver.Pos(solver.Var(v)))
				edge(solver.Neg(solver.Var(v)))
			}
		case 1:
			edge(solver.Pos(solver.Var(v)))
		default:
			for range r.IntN(4) {
				edge(solver.MkLit(solver.Var(v), r.IntN(2) == 0))
			}
		}
	}
	if shape != 0 || r.IntN(3) == 0 {
		in.clauses = randomClauses(r, in.vars, r.IntN(2*in.vars+1))
	}
	return in
}

func randomClauses(r *rand.Rand, vars, n int) [][]solver.Lit {
	var out [][]solver.Lit
	for range n {
		var c []solver.Lit
		for range 1 + r.IntN(3) + r.IntN(2) {
			c = append(c, solver.MkLit(solver.Var(r.IntN(vars)), r.IntN(3) == 0))
		}
		out = append(out, c)
	}
	return out
}

// holds is the definition: the clauses are true and the edges of the true literals are acyclic with the
// known ones.
func (in *instance) holds(value func(solver.Var) bool) error {
	isTrue := func(l solver.Lit) bool { return value(l.Var()) != l.IsNeg() }
	for _, c := range in.clauses {
		if !slices.ContainsFunc(c, isTrue) {
			return fmt.Errorf("clause %v is false", c)
		}
	}
	edges := slices.Clone(in.known)
	for _, g := range in.guards {
		if isTrue(g.Lit) {
			edges = append(edges, graph.Edge{From: g.From, To: g.To})
		}
	}
	if c := naiveCycle(in.nodes, edges); c {
		return errors.New("the model's edges have a cycle")
	}
	return nil
}

// naiveCycle takes away nodes without predecessors until none is left.
func naiveCycle(n int, edges []graph.Edge) bool {
	gone := make([]bool, n)
	for left := n; left > 0; left-- {
		free := -1
		for v := range n {
			if !gone[v] && !slices.ContainsFunc(edges, func(e graph.Edge) bool {
				return int(e.To) == v && !gone[e.From]
			}) {
				free = v
				break
			}
		}
		if free < 0 {
			return true
		}
		gone[free] = true
	}
	return false
}

func (in *instance) bruteForce(assume ...solver.Lit) solver.Status {
	for m := 0; m < 1<<in.vars; m++ {
		value := func(v solver.Var) bool { return m>>v&1 != 0 }
		if !slices.ContainsFunc(assume, func(l solver.Lit) bool { return value(l.Var()) == l.IsNeg() }) &&
			in.holds(value) == nil {
			return solver.Sat
		}
	}
	return solver.Unsat
}

// eager has the acyclicity in clauses: one variable for each ordered pair, transitive and irreflexive,
// implied by the edges.
func (in *instance) eager() *solver.Solver {
	s := solver.New(solver.Options{})
	s.NewVars(in.vars)
	n := in.nodes
	first := s.NewVars(n * n)
	reach := func(a, b int) solver.Lit { return solver.Pos(first + solver.Var(a*n+b)) }
	for a := range n {
		s.AddClause(reach(a, a).Not())
		for b := range n {
			for c := range n {
				s.AddClause(reach(a, b).Not(), reach(b, c).Not(), reach(a, c))
			}
		}
	}
	for _, e := range in.known {
		s.AddClause(reach(int(e.From), int(e.To)))
	}
	for _, g := range in.guards {
		s.AddClause(g.Lit.Not(), reach(int(g.From), int(g.To)))
	}
	for _, c := range in.clauses {
		s.AddClause(c...)
	}
	return s
}

// theory is what the tests need of both.
type theory interface {
	solver.Theory
	Add(...acyclic.Guard) []solver.Lit
	Lemma([]solver.Lit) bool
	CheckIntegrity() error
}

// ways are all the theories and settings; their answers must not differ.
var ways = []struct {
	name   string
	attach func(s *solver.Solver, in *instance, guards []acyclic.Guard) theory
}{
	{"pk", pk(acyclic.PKOptions{})},
	{"pk-all", pk(acyclic.PKOptions{NoDontCares: true})},
	{"pk-phases", pk(acyclic.PKOptions{Phases: true})},
	{"pk-propagate", pk(acyclic.PKOptions{Propagate: true})},
	{"pk-propagate-all", pk(acyclic.PKOptions{Propagate: true, NoDontCares: true})},
	{"closure", clo(closure.KindPurdomPlus, acyclic.ClosureOptions{})},
	{"closure-conflicts", clo(closure.KindPurdomPlus, acyclic.ClosureOptions{NoPropagate: true})},
	{"window", window},
	{"closure-matrix", clo(closure.KindWarshall, acyclic.ClosureOptions{})},
}

func pk(o acyclic.PKOptions) func(*solver.Solver, *instance, []acyclic.Guard) theory {
	return func(s *solver.Solver, in *instance, guards []acyclic.Guard) theory {
		base := graph.Build(in.nodes, in.known)
		topo, _ := graph.Topological(base)
		return acyclic.NewPK(s, order.FromGraph(base, topo), guards, o)
	}
}

func window(s *solver.Solver, in *instance, guards []acyclic.Guard) theory {
	base := graph.Build(in.nodes, in.known)
	topo, _ := graph.Topological(base)
	w := acyclic.NewWindow(base, topo, acyclic.MaxWindowWords)
	if c := w.Attach(s, guards); c != nil {
		s.AddClause(c...)
	}
	return w
}

func clo(kind closure.Kind, o acyclic.ClosureOptions) func(*solver.Solver, *instance, []acyclic.Guard) theory {
	return func(s *solver.Solver, in *instance, guards []acyclic.Guard) theory {
		dyn, cycle, err := closure.New(kind, closure.Input{N: in.nodes, Known: graph.Build(in.nodes, in.known)},
			closure.Options{})
		if err != nil || cycle != nil {
			panic(fmt.Sprint("the known edges have a cycle: ", cycle, err))
		}
		return acyclic.NewClosure(s, dyn, guards, o)
	}
}

// stress makes rare paths of the solver common.
var stress = []solver.Options{
	{},
	{LubyUnit: 1, ReduceFirst: 3, ReduceGrowth: 1},
	{NoMinimize: true, NoPhaseSaving: true, Seed: 3},
	{Restart: solver.RestartGlue, Heuristic: solver.HeuristicStatic, ReduceFirst: 2},
}

// lemmaChecker makes a proof checker that judges the lemmas by the guards, by definition.
func lemmaChecker(in *instance) *proof.Checker {
	return &proof.Checker{OnLemma: func(c []solver.Lit) error {
		edges := slices.Clone(in.known)
		for _, l := range c {
			for _, g := range in.guards {
				if g.Lit == l.Not() {
					edges = append(edges, graph.Edge{From: g.From, To: g.To})
				}
			}
		}
		if !naiveCycle(in.nodes, edges) {
			return errors.New("the edges close no cycle")
		}
		return nil
	}}
}
