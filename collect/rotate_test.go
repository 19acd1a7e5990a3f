package collect

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/test/must"
)

// TestRotate: the parts together are what Live gets of the run, with the same ids; and the summary counts them.
func TestRotate(t *testing.T) {
	for i, c := range []Config{
		{DB: []string{"sqlite:"}, Workload: "smallbank"},
		{DB: []string{"badger:"}, Workload: "rmw", Keys: 10},
		{DB: []string{"badger:"}, Workload: "list-append", Keys: 5},
		{DB: []string{"sqlite:"}, Workload: "booking"},
		{DB: []string{"badger:"}, Workload: "blindw", Values: 3},
	} {
		k := &kept{t: t}
		c.Txns, c.Sessions, c.Seed, c.Live = 120, 6, 3, k
		c.Rotate = &Rotate{Dir: filepath.Join(t.TempDir(), "h"), Ending: split.Endings()[i%5], Txns: 30}
		r := must.Get(Run(t.Context(), c))(t)
		h := must.Get(split.Read(t.Context(), []string{c.Rotate.Dir}, format.Options{}))(t)
		var got []string
		count := [3]int{}
		for x := range uint32(h.NumTxns()) {
			if x == h.Init {
				continue
			}
			got = append(got, describe(h, x))
			count[h.Txns.Status[x]]++
		}
		slices.Sort(got)
		slices.Sort(k.txns)
		if !slices.Equal(got, k.txns) || h.Meta != k.meta {
			t.Errorf("%s: %d transactions in parts, %d live, or they differ, such as %v and %v; header %+v and %+v",
				c.Workload, len(got), len(k.txns), got[0], k.txns[0], h.Meta, k.meta)
		}
		var sum [3]int
		for _, x := range r.Summary.Templates {
			sum[history.Committed] += x.Committed
			sum[history.Aborted] += x.Aborted
			sum[history.Unknown] += x.Unknown
			if x.Committed > 0 && (x.P50 <= 0 || x.P99 < x.P50) {
				t.Errorf("%s: %+v", c.Workload, x)
			}
		}
		if sum != count || r.History != nil || r.Parts.Files < 2 || r.Parts.Txns != int64(h.NumTxns()) {
			t.Errorf("%s: the summary has %v, the parts %v: %+v", c.Workload, sum, count, r.Parts)
		}
		// What was there at first covers what Live was told that was.
		lo, hi := uint32(0), uint32(0)
		if h.Init != history.None {
			lo, hi = h.TxnOps(h.Init)
		}
		for op := lo; op < hi; op++ {
			key := h.KeyString(h.OpKey(op))
			if v, ok := k.init[key]; ok && v != h.ValueString(h.Ops.Ver[op]) {
				t.Errorf("%s: key %s held %s at first, and %s in the parts", c.Workload, key, v,
					h.ValueString(h.Ops.Ver[op]))
			}
			delete(k.init, key)
		}
		if len(k.init) > 0 {
			t.Errorf("%s: not in the parts: %v", c.Workload, k.init)
		}
	}
}

// TestForgets: a session's logs do not grow with a run in parts.
func TestForgets(t *testing.T) {
	for _, live := range []Live{nil, &kept{t: t}} {
		r := &run{cfg: Config{Rotate: &Rotate{}, Live: live}}
		c := &client{r: r}
		at := 0
		for n := range 5000 {
			c.log.row([]int64{1, 2})
			c.log.add(opRec{})
			x := txnRec{name: "x", end: int64(n)}
			c.log.end(x)
			c.publish()
			c.keep(&x)
			if live != nil && n%100 == 99 { // as step does
				for _, l := range c.logs() {
					at += max(len(l.txns)-at, 0)
				}
				total := 0
				for _, l := range c.logs() {
					total += len(l.txns)
				}
				if at = c.given(total); at > segment {
					t.Fatalf("%d transactions are kept", at)
				}
			}
			held := len(c.log.txns) + len(c.log.ops) + len(c.log.cells)
			for i := range c.older {
				held += len(c.older[i].txns)
			}
			if held > 5*segment {
				t.Fatalf("%d things are kept", held)
			}
		}
		must.Equal(t, c.tallies["x"].n[history.Committed], 5000, "counted")
	}
}

// The classes of durations are those of a naive twin, to a thirtieth.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var x tally
		var naive []int64
		for range 1 + rng.IntN(500) {
			d := rng.Int64N(1 << rng.IntN(50))
			x.times[place(d)]++
			x.n[history.Committed]++
			naive = append(naive, d)
		}
		slices.Sort(naive)
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			got, want := x.quantile(q), quantile(naive, q)
			if off := got - want; max(off, -off) > want/30+1 {
				t.Fatalf("%v: %v; want about %v", q, got, want)
			}
		}
	}
	must.Equal(t, new(tally).quantile(0.5), 0, "the median of none")
	if place(int64(time.Hour)) >= len(tally{}.times) || place(1<<62) >= len(tally{}.times) || place(-1) != 0 {
		t.Error("a duration has no class")
	}
}
