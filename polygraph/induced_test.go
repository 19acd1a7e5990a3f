package polygraph_test

import (
	"context"
	"slices"
	"testing"

	"isovet/check/prepass"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/polygraph"
)

// TestGeneralizedConstraint: the two keys that two transactions write are one constraint, each side with its WW edges
// and the RW edges of who read what comes first.
func TestGeneralizedConstraint(t *testing.T) {
	p := polygraph.New(prepass.Run(notation.MustParse("s1: w(x,1) w(y,1) | s2: w(x,2) w(y,2) | s3: r(x,1) | s4: "+
		"r(y,1) | s5: r(y,2)")), level.SnapshotIsolation, polygraph.Options{})
	g, ok := polygraph.NewInduced(p, 1000)
	must.Hold(t, ok && len(g.Open) == 1, "%t, %d constraints; want 1", ok, len(g.Open))
	for first, want := range map[bool]string{true: "1>2 ww, 3>2 rw, 4>2 rw", false: "2>1 ww, 5>1 rw"} {
		var edges []polygraph.Edge
		g.Side(g.Open[0], first, func(e polygraph.Edge) { e.From, e.To = 2*e.From, 2*e.To; edges = append(edges, e) })
		must.Equal(t, describe(p, edges), want, "A first %t", first)
	}
	if _, ok := polygraph.NewInduced(p, 5); ok {
		t.Error("a limit that is too small is not heeded")
	}
}

// TestInducedAgainstDefinition: the closure is that of (SO ∪ WR ∪ WW);RW? over relations written out pair by pair, and
// pruning keeps the completions of the polygraph of begins and commits: all of them settle what it settled, and none
// are left where it refutes.
func TestInducedAgainstDefinition(t *testing.T) {
	refutations, settled, left, n := 0, 0, 0, 0
	histtest.Each(t, 4000, func(seed uint64) *history.History {
		var h *history.History
		if seed%4 == 0 {
			var err error
			if h, err = datasets.Generate(context.Background(), datasets.Spec{Workload: "mini",
				Isolation: "snapshot-isolation", Txns: 7, Sessions: 4, Keys: 3, Seed: seed + 1}); err != nil {
				t.Fatal(err)
			}
		} else {
			h = random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%2 == 0, Unknown: seed%3 == 0})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		v := prepass.Run(h)
		if len(v.Anomalies) > 0 || v.Ambiguous() {
			return
		}
		l := []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation,
			level.StrictSnapshotIsolation}[seed%3]
		if _, missing := polygraph.MissingTime(h); missing && l.RealTime() {
			return
		}
		fresh := func() *polygraph.Polygraph { return polygraph.New(v, l, polygraph.Options{RealTime: l.RealTime()}) }
		p := fresh()
		p.AllPairs()
		if len(p.Choices) > 9 {
			return
		}
		want := count(p)
		g, ok := polygraph.NewInduced(fresh(), 1000)
		must.Hold(t, ok, "seed %d: too large", seed)
		n++
		_, refuted, err := g.Prune(context.Background())
		must.OK(t, err)
		if refuted {
			if refutations++; want != 0 {
				t.Fatalf("seed %d, %s: refuted, and there are %d completions", seed, l, want)
			}
			return
		}
		known := slices.Concat(g.P.Known, g.Settled())
		reach := induced(g, known)
		for u := range g.N {
			for v := range g.N {
				if got := g.Reaches(int32(u), int32(v)); got != (u == v || reach[u][v]) {
					t.Fatalf("seed %d, %s: %d reaches %d: %t", seed, l, u, v, got)
				}
			}
		}
		q := fresh()
		q.Known = known
		for _, c := range g.Open {
			for _, w := range g.Pairs(c, true) {
				q.Choices = append(q.Choices, polygraph.Choice{A: w[0], B: w[1], A0: w[0], B0: w[1]})
			}
		}
		settled, left = settled+len(p.Choices)-len(q.Choices), left+len(g.Open)
		must.Same(t, count(q), want, "seed %d, %s", seed, l)
		if len(g.Open) > 0 && !slices.EqualFunc(reach, closed(g.N, g.Reduced), slices.Equal) {
			t.Fatalf("seed %d, %s: %v should imply all known edges, and does not", seed, l, g.Reduced)
		}
	})
	t.Logf("%d polygraphs, %d refuted, %d choices settled, %d constraints left", n, refutations, settled, left)
	if histtest.Whole() && (refutations < 200 || settled < 1000 || left < 200) {
		t.Error("the mix is lopsided")
	}
}

// closed is the transitive closure of edges.
func closed(n int, edges []graph.Edge) [][]bool {
	r := make([][]bool, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	for _, e := range edges {
		r[e.From][e.To] = true
	}
	for k := range n {
		for u := range n {
			for v := range n {
				r[u][v] = r[u][v] || r[u][k] && r[k][v]
			}
		}
	}
	return r
}

// induced is the transitive closure of (SO ∪ WR ∪ WW);RW? by definition, of edges of a polygraph with split nodes and
// of real time.
func induced(g *polygraph.Induced, edges []polygraph.Edge) [][]bool {
	relation := func() [][]bool {
		r := make([][]bool, g.N)
		for i := range r {
			r[i] = make([]bool, g.N)
		}
		return r
	}
	dep, anti, reach := relation(), relation(), relation()
	for u := range g.N {
		for v := range g.N {
			dep[u][v] = g.P.Before(int32(2*u), int32(2*v))
		}
	}
	for _, e := range edges {
		switch {
		case e.By == polygraph.ByInner:
		case e.Dep == evidence.RW:
			anti[e.From/2][e.To/2] = true
		default:
			dep[e.From/2][e.To/2] = true
		}
	}
	for u := range g.N {
		for v := range g.N {
			reach[u][v] = dep[u][v]
			for m := range g.N {
				reach[u][v] = reach[u][v] || dep[u][m] && anti[m][v]
			}
		}
	}
	for m := range g.N {
		for u := range g.N {
			for v := range g.N {
				reach[u][v] = reach[u][v] || reach[u][m] && reach[m][v]
			}
		}
	}
	return reach
}
