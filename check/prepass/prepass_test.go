package prepass_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestAnomalies: which read is an anomaly of which kind, and which is none. Transactions have ids 1, 2, … in order.
func TestAnomalies(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/anomalies.tsv") {
		name, text, want := c[0], c[1], c[2]
		h := notation.MustParse(text)
		v := prepass.Run(h)
		var got []string
		for _, a := range v.Anomalies {
			s := string(a.Kind)
			a.Complete(h, level.Serializable, 0)
			for _, x := range a.Txns {
				s += fmt.Sprintf(" T%d", h.Txns.ID[x])
			}
			got = append(got, s)
		}
		must.Equal(t, strings.Join(got, "; "), want, "%s: %s", name, text)
	}
}

// TestAmbiguity: which reads have several possible writers, and which outcomes remain a choice.
func TestAmbiguity(t *testing.T) {
	for _, c := range []struct {
		h         string
		reads     int
		open      []int64
		numCounts int
	}{
		{"init=0: s1: w(x,1) | s2: r(x,1)", 0, nil, 2},
		{"init=0: s1: w(x,1) | s2: w(x,1) | s3: r(x,1)", 1, nil, 3},
		{"init=0: s1: w(x,1) | s2: w(x,1) | s3: r(x,0) w(x,2)", 0, nil, 3}, // nobody reads the duplicate
		{"init=0: s1: w(x,0) | s2: r(x,0)", 1, nil, 2},
		{"init=0: s1: w(x,0) r(x,0)", 0, nil, 1},
		{"init=0: s1: r(x,0) w(x,0)", 0, nil, 1}, // its own write is no candidate
		{"init=0: s1: w(x,null) | s2: w(x,null) | s3: r(x,null)", 1, nil, 3},
		{"s1: w(x,null) | s2: r(x,null)", 1, nil, 2}, // never there, or deleted
		{"init=0: s1: w(x,1)! | s2: w(x,1) | s3: r(x,1)", 0, nil, 2},
		{"init=0: s1: w(x,1) w(x,2) | s2: w(x,1) | s3: r(x,1)", 0, nil, 3}, // an intermediate value is not installed
		{"init=0: s1: w(x,1)? | s2: r(x,1)", 0, nil, 2},
		{"init=0: s1: w(x,1)? | s2: w(x,1)? | s3: r(x,1)", 1, []int64{1, 2}, 1},
		{"init=0: s1: w(x,1)? | s2: w(x,1) | s3: r(x,1)", 1, []int64{1}, 2},
		// open by way of an open one
		{"init=0: s1: w(y,1)? | s2: r(y,1) w(x,1)? | s3: w(x,1) | s4: r(x,1)", 2, []int64{2, 1}, 2},
		{"init=0: s1: w(x,1)? | s2: w(x,1)? | s3: r(y,0)", 0, nil, 1},
		{"init=0: init: w(x,0) | s1: r(x,0)", 0, nil, 1},
	} {
		h := notation.MustParse(c.h)
		v := prepass.Run(h)
		open := slice.Map(v.Open, func(x uint32) int64 { return h.Txns.ID[x] })
		if len(v.Amb) != c.reads || !slices.Equal(open, c.open) || v.NumCounts != c.numCounts || len(v.Anomalies) > 0 {
			t.Errorf("%s: %d ambiguous reads, open %v, %d count; want %d, %v, %d", c.h, len(v.Amb), open, v.NumCounts,
				c.reads, c.open, c.numCounts)
		}
		must.Equal(t, v.Ambiguous(), c.reads > 0 || len(c.open) > 0, "%s: Ambiguous()", c.h)
	}
}

// TestMaxAnomalies: what is not listed is counted.
func TestMaxAnomalies(t *testing.T) {
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	for i := range prepass.MaxAnomalies + 7 {
		b.Read(b.Key(history.IntValue(1)), history.IntValue(int64(i)+5))
		b.EndTxn(history.NewTxnHead())
	}
	h := must.Get(b.Build())(t)
	v := prepass.Run(h)
	must.Be(t, len(v.Anomalies) == prepass.MaxAnomalies && v.Also == 7,
		"%d listed, %d more; want %d and 7", len(v.Anomalies), v.Also, prepass.MaxAnomalies)
	for _, a := range v.Anomalies {
		must.Same(t, a.Kind, level.ThinAirRead, "kind")
	}
}

// sequential is n writes of three values to one key, each read by the next transaction; of unknown outcome are the
// writes that open says.
func sequential(t testing.TB, n int, open func(i int) bool) *history.History {
	t.Helper()
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	k := b.Key(history.IntValue(1))
	for i := range 2 * n {
		head := history.NewTxnHead()
		head.Start, head.End = int64(10*i), int64(10*i+5)
		if v := history.IntValue(int64(1 + i/2%3)); i%2 == 1 {
			b.Read(k, v)
		} else {
			b.Write(k, v)
			if open(i / 2) {
				head.Status, head.End = history.Unknown, history.NoTime
			}
		}
		b.EndTxn(head)
	}
	return must.Get(b.Build())(t)
}

// TestCrowdedIsLinear: with a bound on the candidates, reads of values that have many writers each take so many bytes a
// transaction and look at so many writes, however many there are. Without, it would be 200 MB for the longer history.
func TestCrowdedIsLinear(t *testing.T) {
	for name, open := range map[string]func(int) bool{
		"committed": func(int) bool { return false },
		"unknown":   func(i int) bool { return i%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1500, 12_000} {
				h := sequential(t, n, open)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				v, looks := prepass.RunCounted(h, prepass.Options{MaxCandidates: 1000})
				runtime.ReadMemStats(&after)
				must.Be(t, v.Crowded && len(v.Cand) == 0 && len(v.Amb) >= n*9/10 && len(v.CandOff) == len(v.Amb)+1,
					"%d writes: crowded %t, %d candidates of %d reads", n, v.Crowded, len(v.Cand), len(v.Amb))
				if got := (after.TotalAlloc - before.TotalAlloc) / uint64(n); got > 1000 {
					t.Errorf("%d writes: %d bytes each", n, got)
				}
				must.Be(t, looks <= 20*n+5000, "%d writes: candidates looked at %d", n, looks)
			}
		})
	}
}

// TestCrowdedAgainstFull: a bound takes the candidates away, if there are more, and nothing else.
func TestCrowdedAgainstFull(t *testing.T) {
	crowded, whole := 0, 0
	histtest.Each(t, 5000, func(seed uint64) *history.History {
		if seed%3 == 0 {
			return random.ManyUnknown(seed)
		}
		return random.Tiny(seed, random.Options{Aborted: true, Unknown: true, Duplicates: true, Keys: 2, Txns: 8})
	}, func(t testing.TB, seed uint64, h *history.History) {
		full := prepass.Run(h)
		most := 1 + int(seed%7)
		cut := prepass.RunWith(h, prepass.Options{MaxCandidates: most})
		if cut.Crowded != (len(full.Cand) > most) || !slices.Equal(cut.Amb, full.Amb) {
			t.Fatalf("seed %d: crowded %t with %d of %d, ambiguous %v, not %v\n%s", seed, cut.Crowded, len(full.Cand),
				most, cut.Amb, full.Amb, notation.Format(h))
		}
		if cut.Crowded {
			crowded++
			if len(cut.Cand) > 0 {
				t.Fatalf("seed %d: candidates are left\n%s", seed, notation.Format(h))
			}
			full.Cand, full.CandOff = nil, make([]uint32, len(full.CandOff))
		} else if len(full.Amb) > 0 {
			whole++
		}
		if got, want := text(cut), text(full); got != want || !slices.Equal(cut.CandOff, full.CandOff) {
			t.Fatalf("seed %d: %s\ngot:\n%s\nwant:\n%s", seed, notation.Format(h), got, strings.TrimSpace(want))
		}
	})
	histtest.Mix(t, crowded < 100 || whole < 100, "crowded %d, not %d", crowded, whole)
}

// TestLargeTransactions: wrong reads are the same whether a reader's later writes are searched for or looked up.
func TestLargeTransactions(t *testing.T) {
	wrong := 0
	for seed := range uint64(2000) {
		h := random.Tiny(seed, random.Options{Txns: 4, Keys: 2, Unknown: true, Duplicates: true,
			Predicates: seed%2 == 0})
		want := prepass.RunWith(h, prepass.Options{}).Anomalies
		back := prepass.AllLarge()
		got := prepass.RunWith(h, prepass.Options{}).Anomalies
		back()
		must.Hold(t, reflect.DeepEqual(got, want), "seed %d: %v, want %v", seed, got, want)
		for _, a := range want {
			if a.Kind == level.FutureRead {
				wrong++
			}
		}
	}
	must.Be(t, wrong != 0, "no read of a transaction's own later write")
}
