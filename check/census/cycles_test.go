package census

import (
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// naive lists all simple cycles of the graph's edges, each from its least transaction.
func naive(edges []evidence.Edge) (all [][]evidence.Edge) {
	var path []evidence.Edge
	var walk func(first, at uint32)
	walk = func(first, at uint32) {
		for _, e := range edges {
			if e.From != at || e.To < first {
				continue
			}
			if e.To == first {
				all = append(all, append(slices.Clone(path), e))
				continue
			}
			if slices.ContainsFunc(path, func(p evidence.Edge) bool { return p.From == e.To }) || e.To == at {
				continue
			}
			path = append(path, e)
			walk(first, e.To)
			path = path[:len(path)-1]
		}
	}
	seen := map[uint32]bool{}
	for _, e := range edges {
		if !seen[e.From] {
			seen[e.From] = true
			walk(e.From, e.From)
		}
	}
	return all
}

// in reports whether a cycle is of a class: by what it has, and by where its anti-dependencies are.
func (c *class) in(cycle []evidence.Edge) bool {
	n := map[evidence.Dep]int{}
	for _, e := range cycle {
		n[e.Dep]++
	}
	switch {
	case c.first == evidence.WW:
		return n[evidence.WW] > 0 && n[evidence.WR]+n[evidence.RW] == 0
	case c.first == evidence.WR:
		return n[evidence.WR] > 0 && n[evidence.RW] == 0
	case c.mode == anyWay:
		return n[evidence.RW] == 1
	case c.mode == apartRW:
		return n[evidence.RW] > 1 && !evidence.Adjacent(cycle)
	}
	return n[evidence.RW] > 1
}

// TestCycles: of each class there is a cycle among those found wherever the graph has one of it, and where real time
// is none of its edges, one as short as any. Only of the classes with several anti-dependencies a few may be missed.
func TestCycles(t *testing.T) {
	found, missed := [len(classes)]int{}, 0
	histtest.Each(t, 1000, func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Lists: seed%3 == 0, NoTimes: seed%4 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable}[seed%3]
		g := newGraph(prepass.Run(h), l, 0)
		plain := slice.Filter(g.edges, func(e edge) bool { return e.Dep != evidence.RT })
		if l.RealTime() {
			for a := range uint32(h.NumTxns()) {
				for b := range uint32(h.NumTxns()) {
					ended := a != h.Init && h.End(a) != history.NoTime && h.Txns.Status[a] == history.Committed
					if ended && b != h.Init && h.Start(b) != history.NoTime && h.End(a) < h.Start(b) {
						plain = append(plain, evidence.Edge{From: a, To: b, Dep: evidence.RT})
					}
				}
			}
		}
		all, got := naive(plain), g.cycles(t.Context())
		for i := range classes {
			c := &classes[i]
			shortest := func(cycles [][]evidence.Edge) (n int) {
				for _, x := range cycles {
					if c.in(x) && (n == 0 || len(x) < n) {
						n = len(x)
					}
				}
				return n
			}
			mine := slice.Map(got, func(a evidence.Anomaly) []evidence.Edge { return a.Cycle })
			if a, b := shortest(all), shortest(mine); a > 0 && b == 0 && c.mode != anyWay && len(mine) > 0 {
				missed++
			} else if a != b && (a == 0 || b == 0 || !l.RealTime()) {
				t.Errorf("seed %d, %s: the shortest cycle of class %d has %d edges, the shortest found %d", seed, l,
					i, a, b)
			} else if a > 0 {
				found[i]++
			}
		}
	})
	randtest.Mix(t, slices.Min(found[:]) < 5 || missed > found[4]/20, "cycles of the classes in so many histories: %v"+
		", and %d missed", found, missed)
}

// TestEachSkew: separate write skews count separately, on the state before the history too, whatever that holds, and
// with appends that nobody read; a count that its bound ends says so.
func TestEachSkew(t *testing.T) {
	const two = "_: r(a,V) r(b,V) w(a,1) | _: r(a,V) r(b,V) w(b,1) | _: r(c,V) r(d,V) w(c,1) | _: r(c,V) r(d,V) w(d,1)"
	const before = "w(a,0) w(b,0) w(c,0) w(d,0)"
	lists := strings.NewReplacer("V", "[0]", "w(", "a(").Replace("_: " + before + "? | " + two)
	for _, text := range []string{lists, strings.ReplaceAll("init: "+before+" | "+two, "V", "0"),
		strings.ReplaceAll(two, "V", "_"), strings.NewReplacer("V", "[]", "w(", "a(").Replace(two)} {
		h := must.Get(notation.Parse(text))(t)
		if found, _, _ := Of(t.Context(), h, level.Serializable, 0); len(found) != 2 {
			t.Errorf("%q: %d of 2 write skews", text, len(found))
		}
		someSteps = -1 << 40
		found, _, cut := Of(t.Context(), h, level.Serializable, 0)
		must.Equal(t, len(found) == 0 && cut, true, "%q without a step", text)
		someSteps = 1 << 22
	}
}

// TestManyOverwrite: where many transactions read one version and overwrote it, there are as many edges, not their
// square.
func TestManyOverwrite(t *testing.T) {
	const many = 3000
	b := history.NewBuilder()
	x := b.Key(history.IntValue(7))
	for i := range many {
		if i > 0 {
			b.Read(x, history.IntValue(1))
		}
		b.Write(x, history.IntValue(int64(i+1)))
		b.EndTxn(history.NewTxnHead())
	}
	n := len(newGraph(prepass.Run(must.Get(b.Build())(t)), level.Serializable, 0).edges)
	must.Equal(t, n >= many && n <= (mostReaders+4)*many, true, "edges of %d transactions", many)
}
