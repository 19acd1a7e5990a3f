package acyclic_test

import (
	"context"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/test/histtest/randtest"
	"isovet/solver"
	"isovet/solver/acyclic"
)

// TestArrange: between searches the theory takes over another order of the model's graph, and clauses are added; with
// phases as completions the answers are those of brute force, and its counts of backward edges those of the order.
func TestArrange(t *testing.T) {
	arranged, answers := 0, map[solver.Status]int{}
	randtest.Seeds(t, 4000, func(t testing.TB, first uint64) {
		seed := int(first)
		in := random(seed, 8, 7)
		clauses := in.clauses
		in.clauses = clauses[:len(clauses)/2]
		r := rng(seed + 1<<20)
		s := solver.New(solver.Options{})
		s.NewVars(in.vars)
		for v := range in.vars {
			s.SetPhase(solver.Var(v), r.IntN(2) == 0)
		}
		for _, c := range in.clauses {
			s.AddClause(c...)
		}
		g := graph.Build(in.nodes, in.known)
		topo, _ := graph.Topological(g)
		pk := acyclic.NewPK(s, order.FromGraph(g, topo), nil, acyclic.PKOptions{Phases: true})
		if c := pk.Add(in.guards...); c != nil {
			s.AddClause(c...)
		}
		for round := range 2 {
			status := s.Solve(context.Background())
			if want := in.bruteForce(); status != want {
				t.Fatalf("seed %d, round %d: %s, brute force %s", seed, round, status, want)
			}
			answers[status]++
			if status != solver.Sat {
				break
			}
			if err := in.holds(s.Value); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			edges := append([]graph.Edge(nil), in.known...)
			for _, x := range in.guards {
				if s.Value(x.Lit.Var()) != x.Lit.IsNeg() {
					edges = append(edges, graph.Edge{From: x.From, To: x.To})
				}
			}
			priority := make([]int64, in.nodes)
			for i := range priority {
				priority[i] = r.Int64()
			}
			other, ok := graph.TopologicalBy(graph.Build(in.nodes, edges), priority)
			if !ok {
				t.Fatalf("seed %d: the model has a cycle", seed)
			}
			pk.Arrange(other)
			if err := pk.CheckIntegrity(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			arranged++
			in.clauses = clauses
			for _, c := range clauses[len(clauses)/2:] {
				s.AddClause(c...)
			}
		}
	})
	if randtest.Whole() && (arranged < 1000 || answers[solver.Unsat] < 300) {
		t.Fatalf("%d arranged, %v: the test does not test", arranged, answers)
	}
}
