package encode_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/encode"
	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/gini"
	"isovet/solver/gophersat"
)

// ways are all ways to solve a problem.
func ways() map[string]func(context.Context, *encode.Problem) encode.Answer {
	out := map[string]func(context.Context, *encode.Problem) encode.Answer{
		"closure": encode.WithClosure,
		"auto":    encode.OrderFirst,
		"soon": func(ctx context.Context, q *encode.Problem) encode.Answer {
			defer bounds.Set("encode.turnConflicts", 1)()
			return encode.OrderFirst(ctx, q)
		},
		"order": encode.WithOrder,
	}
	for name, back := range map[string]func() solver.Backend{
		"cdcl":      func() solver.Backend { return solver.New(solver.Options{}) },
		"gini":      func() solver.Backend { return gini.New() },
		"gophersat": func() solver.Backend { return gophersat.New() },
	} {
		out["lazy "+name] = func(ctx context.Context, q *encode.Problem) encode.Answer {
			return encode.Lazy(ctx, q, back())
		}
		out["eager "+name] = func(ctx context.Context, q *encode.Problem) encode.Answer {
			return encode.Eager(ctx, encode.MakeEager(q), back())
		}
	}
	return out
}

// acyclic is by definition, real time listed one by one.
func acyclic(p *polygraph.Polygraph, sets ...[]polygraph.Edge) bool {
	reach := make([][]bool, p.N)
	for u := range p.N {
		reach[u] = make([]bool, p.N)
		for v := range p.N {
			reach[u][v] = p.Before(int32(u), int32(v))
		}
	}
	for _, edges := range sets {
		for _, e := range edges {
			reach[e.From][e.To] = true
		}
	}
	for k := range p.N {
		for u := range p.N {
			for v := range p.N {
				reach[u][v] = reach[u][v] || reach[u][k] && reach[k][v]
			}
		}
	}
	for v := range p.N {
		if reach[v][v] {
			return false
		}
	}
	return true
}

// sides are the edges of each side of each choice.
func sides(p *polygraph.Polygraph) (out [][2][]polygraph.Edge) {
	for _, c := range p.Choices {
		var s [2][]polygraph.Edge
		a, b := c.Either()
		p.Side(a, b, func(e polygraph.Edge) bool { s[0] = append(s[0], e); return true })
		a, b = c.Or()
		p.Side(a, b, func(e polygraph.Edge) bool { s[1] = append(s[1], e); return true })
		out = append(out, s)
	}
	return out
}

// satisfiable tries every way to settle the choices.
func satisfiable(p *polygraph.Polygraph) bool {
	all := sides(p)
	for way := range 1 << len(all) {
		var edges []polygraph.Edge
		for i, s := range all {
			edges = append(edges, s[way>>i&1]...)
		}
		if acyclic(p, p.Known, edges) {
			return true
		}
	}
	return false
}

type ends struct{ from, to int32 }

// TestEveryWay: each encoding, solved each way, has the status that trying every assignment finds. A model's edges hold
// one side of each choice and leave the graph acyclic; the cycles of a refutation are cycles, and forbid every
// assignment.
func TestEveryWay(t *testing.T) {
	yes, no, n, turned := 0, 0, 0, 0
	histtest.Each(t, 4500, func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 7, Keys: 3, Unknown: seed%3 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 || v.Ambiguous() {
			return
		}
		l := []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}[seed%3]
		if _, missing := polygraph.MissingTime(h); missing && l.RealTime() {
			return
		}
		p := polygraph.New(v, l, polygraph.Options{RealTime: l.RealTime()})
		switch seed % 4 {
		case 0:
			p.Combine()
		case 1:
			if l.RealTime() {
				p.Overlapping()
				break
			}
			fallthrough
		default:
			p.AllPairs()
		}
		if len(p.Choices) == 0 || len(p.Choices) > 9 || p.KnownCycle() != nil {
			return
		}
		n++
		want := solver.Unsat
		if satisfiable(p) {
			want = solver.Sat
			yes++
		} else {
			no++
		}
		for _, enc := range encode.Encodings() {
			for name, solve := range ways() {
				q := enc.Encode(p)
				if q.Eager && name[:2] == "la" && seed%8 > 0 || !q.Eager && name[:2] == "ea" && seed%16 > 0 {
					continue
				}
				a := solve(context.Background(), q)
				if a.Stats.Theory == encode.TheoryBoth {
					turned++
				}
				at := fmt.Sprintf("seed %d, %s, %s, %s", seed, l, enc.Name, name)
				if a.Status != want {
					t.Fatalf("%s: %v; want %v\n%s", at, a.Status, want, notation.Format(h))
				}
				if a.Status == solver.Sat {
					checkModel(t, at, p, a.Edges)
				} else if !q.Eager && name[:2] != "ea" {
					checkRefutation(t, at, p, q, a.Cycles)
				}
			}
		}
	})
	if histtest.Whole() && (yes < 200 || no < 60 || n < 1200 || turned < 200) {
		t.Errorf("%d satisfiable, %d not, of %d; %d times the closure after the order", yes, no, n, turned)
	}
}

// checkModel checks that a model's edges make a completion.
func checkModel(t testing.TB, at string, p *polygraph.Polygraph, edges []polygraph.Edge) {
	t.Helper()
	has := make(map[ends]bool)
	for _, e := range edges {
		has[ends{e.From, e.To}] = true
	}
	for i, s := range sides(p) {
		whole := [2]bool{true, true}
		for k := range s {
			for _, e := range s[k] {
				whole[k] = whole[k] && has[ends{e.From, e.To}]
			}
		}
		must.Hold(t, whole[0] || whole[1], "%s: the model settles choice %d neither way", at, i)
	}
	must.Hold(t, acyclic(p, p.Known, edges), "%s: the model has a cycle", at)
}

// checkRefutation checks that the cycles are made of known edges, real time and edges of choices, and that every
// assignment has all edges of one of them.
func checkRefutation(t testing.TB, at string, p *polygraph.Polygraph, q *encode.Problem, cycles [][]polygraph.Edge) {
	t.Helper()
	must.Hold(t, len(cycles) != 0, "%s: a refutation without cycles", at)
	known := make(map[ends]bool)
	for _, e := range p.Known {
		known[ends{e.From, e.To}] = true
	}
	var open [][]ends // a cycle's edges of choices
	for _, c := range cycles {
		var o []ends
		for i, e := range c {
			must.Same(t, e.To, c[(i+1)%len(c)].From, "%s: not a cycle: %+v", at, c)
			if i, ok := polygraph.OpenIndex(e.By); ok {
				if g := q.Guards[i].Edge; g.From != e.From || g.To != e.To {
					t.Fatalf("%s: edge %+v is not its guard's, %+v", at, e, g)
				}
				o = append(o, ends{e.From, e.To})
			} else if !known[ends{e.From, e.To}] && !p.Before(e.From, e.To) {
				t.Fatalf("%s: edge %+v is not known", at, e)
			}
		}
		open = append(open, o)
	}
	all := sides(p)
	for way := range 1 << len(all) {
		has := make(map[ends]bool)
		for i, s := range all {
			for _, e := range s[way>>i&1] {
				has[ends{e.From, e.To}] = true
			}
		}
		forbidden := false
		for _, o := range open {
			in := true
			for _, e := range o {
				in = in && has[e]
			}
			forbidden = forbidden || in
		}
		must.Hold(t, forbidden, "%s: no cycle forbids assignment %b", at, way)
	}
}

// TestObeyedIsNotDecided: where choices stand in variables of their own and their edges in others, the order decides
// only what it does not obey, as where they are one, and not each of 10,000 choices anew after each conflict.
func TestObeyedIsNotDecided(t *testing.T) {
	h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: "contended", Keys: histtest.Long(50, 160),
		Txns: histtest.Long(200, 400), Times: datasets.NoTimes, Seed: 1})
	must.OK(t, err)
	p := polygraph.New(prepass.Run(h), level.Serializable, polygraph.Options{})
	p.AllPairs()
	for _, enc := range []func(*polygraph.Polygraph) *encode.Problem{encode.Vbox, encode.Cobra} {
		q := enc(p)
		a := encode.WithOrder(t.Context(), q)
		if a.Status != solver.Sat || a.Stats.Conflicts < 1000 || a.Stats.Decisions > 100*a.Stats.Conflicts {
			t.Errorf("%d variables: %v, %d conflicts, %d decisions, %d choices", q.Vars, a.Status, a.Stats.Conflicts,
				a.Stats.Decisions, len(p.Choices))
		}
		checkModel(t, "contended", p, a.Edges)
	}
}

// TestSizes: [Vbox] §4.5 and Eq. 4: one variable a choice and no clause; one a choice and one a distinct edge, a clause
// for each edge of a side; one a pair of nodes with two clauses for each three.
func TestSizes(t *testing.T) {
	h := notation.MustParse("s0: w(x,0) | s1: w(x,1) | s2: w(x,2) | s3: r(x,1)") // Figure 1 of [Vbox], x alone
	p := polygraph.New(prepass.Run(h), level.Serializable, polygraph.Options{})
	p.AllPairs()
	for _, c := range []struct {
		name                  string
		vars, clauses, guards int
	}{
		// E01, E02, E10 with 3>0, E20, E12 with 3>2, E21: eight edges.
		{"vbox", 3, 0, 8},
		{"cobra", 3 + 8, 8, 8},
		// One component of 4 nodes: 6 pairs, 4 triples twice, the known edge 1>3, and 8 edges of sides.
		{"order", 3 + 6, 8 + 1 + 8, 8},
	} {
		all := encode.Encodings()
		q := all[slices.IndexFunc(all, func(e encode.Encoding) bool { return e.Name == c.name })].Encode(p)
		if q.Vars != c.vars || len(q.Clauses) != c.clauses || len(q.Guards) != c.guards || len(q.Phase) != q.Vars {
			t.Errorf("%s: %d variables, %d clauses, %d guards, %d phases; want %d, %d, %d", c.name, q.Vars,
				len(q.Clauses), len(q.Guards), len(q.Phase), c.vars, c.clauses, c.guards)
		}
		for i, g := range q.Guards {
			if at, ok := polygraph.OpenIndex(g.Edge.By); !ok || at != i {
				t.Errorf("%s: guard %d says that it is %d", c.name, i, at)
			}
		}
	}
}
