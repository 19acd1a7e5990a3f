package acyclic_test

import (
	"context"
	"slices"
	"testing"

	"isovet/internal/graph"
	"isovet/internal/graph/order"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/solver"
	"isovet/solver/acyclic"
)

func TestBruteForce(t *testing.T) {
	ctx := context.Background()
	answers := map[solver.Status]int{}
	randtest.Seeds(t, 3000, func(t testing.TB, first uint64) {
		seed := int(first)
		in := random(seed, 8, 9)
		want := in.bruteForce()
		answers[want]++
		for _, w := range ways {
			o := stress[seed%len(stress)]
			check := lemmaChecker(&in)
			o.Proof = check
			s := solver.New(o)
			s.NewVars(in.vars)
			th := w.attach(s, &in, in.guards)
			for _, c := range in.clauses {
				s.AddClause(c...)
			}
			got := s.Solve(ctx)
			must.Equal(t, got, want, "seed %d, %s\n%+v", seed, w.name, in)
			if got == solver.Sat {
				must.OK(t, in.holds(s.Value), "seed %d, %s\n%+v", seed, w.name, in)
				must.OK(t, th.CheckIntegrity(), "seed %d, %s", seed, w.name)
			}
			if check.Err() != nil || check.Refuted() != (got == solver.Unsat) {
				t.Fatalf("seed %d, %s: refuted %v, %v", seed, w.name, check.Refuted(), check.Err())
			}
		}
	})
	if randtest.Whole() && (answers[solver.Sat] < 500 || answers[solver.Unsat] < 500) {
		t.Fatalf("one-sided test: %v", answers)
	}
}

// choices makes a random instance of the kind that histories give: pairs of writers, each to be ordered
// one way or the other, with readers that come along, on a graph that is not far from acyclic. tight
// makes more choices per node.
func choices(seed, nodes, vars int, noise float64) instance {
	r := rng(seed)
	in := instance{nodes: nodes, vars: vars}
	for i := range nodes - 1 {
		if r.IntN(3) == 0 {
			in.known = append(in.known, graph.Edge{From: int32(i), To: int32(min(nodes-1, i+1+r.IntN(6)))})
		}
	}
	// A hidden order, in which a fraction of the choices is turned by noise.
	for v := range vars {
		a, b, ra, rb := r.IntN(nodes), r.IntN(nodes), r.IntN(nodes), r.IntN(nodes)
		if a == b {
			continue
		}
		p, q := solver.Pos(solver.Var(v)), solver.Neg(solver.Var(v))
		// p: a before b, and a's reader ra before b. q: the same with a and b exchanged.
		in.guards = append(in.guards, acyclic.Guard{Lit: p, From: int32(a), To: int32(b)}, acyclic.Guard{Lit: q,
			From: int32(b), To: int32(a)})
		if ra > a && (ra < b || b < a && r.Float64() < noise) {
			in.guards = append(in.guards, acyclic.Guard{Lit: p, From: int32(ra), To: int32(b)})
		}
		if rb > b && (rb < a || a < b && r.Float64() < noise) {
			in.guards = append(in.guards, acyclic.Guard{Lit: q, From: int32(rb), To: int32(a)})
		}
	}
	return in
}

// Too large for brute force: all ways agree with each other and with the eager encoding.
func TestAgainstEager(t *testing.T) {
	ctx := context.Background()
	answers := map[solver.Status]int{}
	conflicts := int64(0)
	randtest.Seeds(t, 240, func(t testing.TB, first uint64) {
		seed := int(first)
		r := rng(seed)
		n := 8 + seed%12
		in := choices(seed, n, n*(2+r.IntN(3)), 0.15*r.Float64())
		if seed%3 == 0 {
			in = random(seed, 16, 40)
		}
		if seed%2 == 0 {
			in.clauses = append(in.clauses, randomClauses(r, in.vars, r.IntN(in.vars))...)
		}
		e := in.eager()
		want := e.Solve(ctx)
		answers[want]++
		if want == solver.Sat {
			must.OK(t, in.holds(e.Value), "seed %d, eager", seed)
		}
		for _, w := range ways {
			o := stress[seed%len(stress)]
			check := lemmaChecker(&in)
			o.Proof = check
			s := solver.New(o)
			s.NewVars(in.vars)
			th := w.attach(s, &in, in.guards)
			for _, c := range in.clauses {
				s.AddClause(c...)
			}
			if got := s.Solve(ctx); got != want {
				t.Fatalf("seed %d, %s: %v, eager says %v", seed, w.name, got, want)
			} else if got == solver.Sat {
				must.OK(t, in.holds(s.Value), "seed %d, %s", seed, w.name)
				must.OK(t, th.CheckIntegrity(), "seed %d, %s", seed, w.name)
			} else if !check.Refuted() {
				t.Fatalf("seed %d, %s: not refuted: %v", seed, w.name, check.Err())
			}
			conflicts += s.Stats().Conflicts
		}
	})
	if randtest.Whole() && (answers[solver.Sat] < 40 || answers[solver.Unsat] < 40 || conflicts < 5000) {
		t.Fatalf("too easy or one-sided: %v, %d theory conflicts", answers, conflicts)
	}
}

// Random sequences of new variables, clauses, guards, and solving under assumptions, each answer against
// brute force.
func TestSequences(t *testing.T) {
	ctx := context.Background()
	answers := map[solver.Status]int{}
	randtest.Seeds(t, 500, func(t testing.TB, first uint64) {
		seed := int(first)
		w := ways[seed%len(ways)]
		r := rng(7000 + seed)
		full := random(seed, 7, 1)
		in := instance{nodes: full.nodes, known: full.known}
		o := stress[seed/len(ways)%len(stress)]
		check := lemmaChecker(&in)
		o.Proof = check
		s := solver.New(o)
		th := w.attach(s, &in, nil)
		for step := range 20 {
			switch k := r.IntN(8); {
			case in.vars == 0 || k == 0 && in.vars < 8:
				n := 1 + r.IntN(2)
				s.NewVars(n)
				in.vars += n
			case k < 4:
				var more []acyclic.Guard
				for range 1 + r.IntN(3) {
					more = append(more, acyclic.Guard{
						Lit:  solver.Lit(r.IntN(2 * in.vars)),
						From: int32(r.IntN(in.nodes)), To: int32(r.IntN(in.nodes)),
					})
				}
				more = slices.DeleteFunc(more, func(g acyclic.Guard) bool { return g.From == g.To && r.IntN(8) > 0 })
				in.guards = append(in.guards, more...)
				if c := th.Add(more...); c != nil {
					must.Hold(t, th.Lemma(c), "seed %d, %s: %v is no lemma", seed, w.name, c)
					s.AddClause(c...)
				}
			case k == 4:
				for _, c := range randomClauses(r, in.vars, 1) {
					in.clauses = append(in.clauses, c)
					s.AddClause(c...)
				}
			default:
				var as []solver.Lit
				for range r.IntN(4) {
					as = append(as, solver.Lit(r.IntN(2*in.vars)))
				}
				want := in.bruteForce(as...)
				answers[want]++
				got := s.Solve(ctx, as...)
				must.Equal(t, got, want, "seed %d, step %d, %s under %v", seed, step, w.name, as)
				if got == solver.Sat {
					must.OK(t, in.holds(s.Value), "seed %d, step %d, %s", seed, step, w.name)
					for _, a := range as {
						if s.Value(a.Var()) == a.IsNeg() {
							t.Fatalf("seed %d, step %d, %s: assumption %v is false", seed, step, w.name, a)
						}
					}
					must.OK(t, th.CheckIntegrity(), "seed %d, step %d, %s", seed, step, w.name)
				} else if in.bruteForce(s.Failed()...) != solver.Unsat {
					t.Fatalf("seed %d, step %d, %s: the failed assumptions %v have a model", seed, step, w.name,
						s.Failed())
				}
				must.OK(t, check.Err(), "seed %d, step %d, %s", seed, step, w.name)
			}
		}
	})
	if randtest.Whole() && (answers[solver.Sat] < 400 || answers[solver.Unsat] < 400) {
		t.Fatalf("one-sided test: %v", answers)
	}
}

// A fixture: no single choice is decided by the known graph, each of the four
// combinations of two choices closes a cycle with exactly two chosen edges.
func TestTwoChoicesNoUnit(t *testing.T) {
	const (
		a1, a2, r1, r1x, r2, r2x = 0, 1, 2, 3, 4, 5
		b1, b2, s1, s1x, s2, s2x = 6, 7, 8, 9, 10, 11
	)
	in := instance{nodes: 12, vars: 2, known: []graph.Edge{
		{From: a1, To: r1}, {From: a1, To: r1x}, {From: a2, To: r2}, {From: a2, To: r2x},
		{From: b1, To: s1}, {From: b1, To: s1x}, {From: b2, To: s2}, {From: b2, To: s2x},
		{From: a2, To: s1}, {From: b2, To: r1}, {From: a2, To: s2}, {From: b1, To: r1x},
		{From: a1, To: s1x}, {From: b2, To: r2}, {From: a1, To: s2x}, {From: b1, To: r2x},
	}}
	side := func(l solver.Lit, w, x int32, readers ...int32) {
		in.guards = append(in.guards, acyclic.Guard{Lit: l, From: w, To: x})
		for _, r := range readers {
			in.guards = append(in.guards, acyclic.Guard{Lit: l, From: r, To: x})
		}
	}
	side(solver.Pos(0), a1, a2, r1, r1x)
	side(solver.Neg(0), a2, a1, r2, r2x)
	side(solver.Pos(1), b1, b2, s1, s1x)
	side(solver.Neg(1), b2, b1, s2, s2x)
	for l := range solver.Lit(4) {
		must.Equal(t, in.bruteForce(l), solver.Unsat, "the fixture")
		var one []graph.Edge
		for _, g := range in.guards {
			if g.Lit == l {
				one = append(one, graph.Edge{From: g.From, To: g.To})
			}
		}
		must.Hold(t, !naiveCycle(in.nodes, append(one, in.known...)), "literal %v alone closes a cycle", l)
	}
	for _, w := range ways {
		s := solver.New(solver.Options{})
		s.NewVars(2)
		w.attach(s, &in, in.guards)
		if got := s.Solve(context.Background()); got != solver.Unsat || s.Stats().Conflicts > 4 {
			t.Errorf("%s: %v after %d conflicts, expected unsat after at most 4", w.name, got, s.Stats().Conflicts)
		}
	}
}

// Choices that the first order obeys are never decided.
func TestDontCares(t *testing.T) {
	in := choices(1, 60, 400, 0)
	s := solver.New(solver.Options{})
	s.NewVars(in.vars)
	pk(acyclic.PKOptions{})(s, &in, in.guards)
	must.Equal(t, s.Solve(context.Background()), solver.Sat, "solved")
	must.OK(t, in.holds(s.Value))
	if n := s.Stats().Decisions; n > int64(in.vars/2) {
		t.Fatalf("%d of %d were decided", n, in.vars)
	}
}

func guard(l solver.Lit, from, to int32) acyclic.Guard {
	return acyclic.Guard{Lit: l, From: from, To: to}
}

// A history that was executed serially has an answer, which all ways find.
func TestContended(t *testing.T) {
	randtest.Seeds(t, 6, func(t testing.TB, first uint64) {
		seed := int(first)
		in := contended(seed, 10, 12, 10)
		for _, w := range ways {
			s := solver.New(solver.Options{})
			s.NewVars(in.vars)
			w.attach(s, &in, in.guards)
			must.Equal(t, s.Solve(context.Background()), solver.Sat, "seed %d, %s", seed, w.name)
			must.OK(t, in.holds(s.Value), "seed %d, %s", seed, w.name)
		}
	})
}

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
			must.Equal(t, status, in.bruteForce(), "seed %d, round %d", seed, round)
			answers[status]++
			if status != solver.Sat {
				break
			}
			must.OK(t, in.holds(s.Value), "seed %d, round %d", seed, round)
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
			must.Hold(t, ok, "seed %d: the model has a cycle", seed)
			pk.Arrange(other)
			must.OK(t, pk.CheckIntegrity(), "seed %d", seed)
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
