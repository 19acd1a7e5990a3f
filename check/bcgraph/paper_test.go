package bcgraph

import (
	"context"
	"math/rand/v2"
	"testing"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
)

func input(t testing.TB, h *history.History, l level.Level) Input {
	t.Helper()
	v := prepass.Run(h)
	o, fork, open := Chains(v)
	must.Hold(t, fork[0] == none && open == none && len(v.Anomalies) == 0,
		"no version orders: fork %v, open %d, %v", fork, open, v.Anomalies)
	return Input{V: v, Level: l, Orders: o}
}

// [BCGraphs] Lemma 10, and errata B2: the long fork's only cycle has two anti-dependencies that are not adjacent; a
// write skew's are.
func TestLongForkAndWriteSkew(t *testing.T) {
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"long fork", "init=0: s1: r(x,0) w(x,1) | s2: r(y,0) w(y,1) | s3: r(x,1) r(y,0) | s4: r(x,0) r(y,1)", false},
		{"write skew", "init=0: s1: r(x,0) r(y,0) w(x,1) | s2: r(x,0) r(y,0) w(y,1)", true},
		{"one read-modify-write after the other", "init=0: s1: r(x,0) w(x,1) | s2: r(x,1) w(x,2)", true},
	} {
		in := input(t, notation.MustParse(c.text), level.SnapshotIsolation)
		b := NewBC(in)
		if _, ok := b.Order(); ok != c.ok {
			t.Errorf("%s: BC-graph says %v", c.name, ok)
		}
		if _, ok := NewFullBC(in).Order(); ok != c.ok {
			t.Errorf("%s: full BC-graph says %v", c.name, ok)
		}
		for _, reduced := range []bool{false, true} {
			cycle, ok := NewAdya(in, reduced).Forbidden(context.Background())
			if !ok || (cycle == nil) != c.ok || cycle != nil && evidence.Adjacent(cycle) {
				t.Errorf("%s: Adya says %v", c.name, cycle)
			}
		}
		if !c.ok {
			if cycle := b.Violation(); len(cycle) != 4 || evidence.Classify(cycle) != level.LongFork {
				t.Errorf("%s: %v", c.name, cycle)
			}
		}
	}
}

// A lost update is found before any graph; a blind write that is not its key's first leaves the order open; [BCGraphs]
// assumes neither.
func TestChains(t *testing.T) {
	for _, c := range []struct {
		text       string
		fork, open bool
	}{
		{"init=0: s1: r(x,0) w(x,1) | s2: r(x,0) w(x,2)", true, false},
		{"init=0: s1: w(x,1) | s2: r(x,1) w(x,2)", false, false},
		{"init=0: s1: w(x,1) | s2: w(x,2)", false, true},
		{"init=0: s1: r(x,0) w(x,1) | s2: w(x,2)", false, true},
	} {
		_, fork, open := Chains(prepass.Run(notation.MustParse(c.text)))
		must.Be(t, (fork[0] != none) == c.fork && (open != none) == c.open, "%s: fork %v, open %d", c.text, fork, open)
	}
}

// Errata B6: leaving out the pairs between which a third transaction lies keeps who is before whom, directly or not;
// linking only to the next one to begin would not.
func TestReduction(t *testing.T) {
	fewer := 0
	histtest.Each(t, 3000, func(seed uint64) *history.History {
		r := rand.New(rand.NewPCG(seed, 5))
		b := history.NewBuilder()
		for range 1 + r.IntN(9) {
			h := history.NewTxnHead()
			h.Start = int64(r.IntN(20))
			h.End = h.Start + int64(r.IntN(6))
			b.Read(b.Key(history.IntValue(1)), history.Value{})
			b.EndTxn(h)
		}
		return must.Get(b.Build())(t)
	}, func(t testing.TB, seed uint64, h *history.History) {
		in := input(t, h, level.StrictSnapshotIsolation)
		full, reduced := closed(NewAdya(in, false)), closed(NewAdya(in, true))
		n := h.NumTxns()
		for i := range n {
			for j := range n {
				if full[i][j] != reduced[i][j] || full[i][j] != (h.End(uint32(i)) < h.Start(uint32(j))) {
					t.Fatalf("seed %d: %d before %d: all pairs %v, reduced %v", seed, i, j, full[i][j], reduced[i][j])
				}
			}
		}
		all, few := NewAdya(in, false).Start, NewAdya(in, true).Start
		if few < all {
			fewer++
		}
		// All pairs are what the full BC-graph lists too.
		if b := NewFullBC(in); b.Start != all || b.Edges != all+n {
			t.Fatalf("seed %d: %d start edges of %d in the full BC-graph, %d in Adya's", seed, b.Start, b.Edges, all)
		}
		// The builder gives each transaction a session of its own: the counts are exact.
		if in.StartEdges(false) != all || in.StartEdges(true) < few || in.StartEdges(true) > few+n {
			t.Fatalf("seed %d: %d and %d start edges, counted as %d and %d", seed, all, few, in.StartEdges(false),
				in.StartEdges(true))
		}
	})
	histtest.Mix(t, fewer < 1000, "the reduction left out something of %d histories only", fewer)
}

func closed(a *Adya) [][]bool {
	n := a.g.N()
	m := make([][]bool, n)
	for i := range m {
		m[i] = make([]bool, n)
		for _, j := range a.g.Succ(int32(i)) {
			m[i][j] = true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				m[i][j] = m[i][j] || m[i][k] && m[k][j]
			}
		}
	}
	return m
}
