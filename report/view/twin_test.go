package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// some makes a small history: with sessions or without, with times, timestamps or neither, aborted and unknown ones.
func some(t *testing.T, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 1))
	return built(t, func(b *history.Builder) {
		times, sessions := r.IntN(3), r.IntN(3)
		for i := range 5 + r.IntN(60) {
			h := history.NewTxnHead()
			h.HasID, h.ID = true, int64(1000+i)
			if h.HasSess = sessions > 0 && r.IntN(10) < 5*sessions; h.HasSess {
				h.Session = int64(r.IntN(6))
			}
			at := int64(1e9) + int64(i)*10 + r.Int64N(30)
			end := at + r.Int64N(60)
			switch times {
			case 0:
				h.Start, h.End = at, end
			case 1:
				h.StartTS, h.CommitTS = at, end
			}
			if r.IntN(8) == 0 {
				h.Status = history.Status(1 + r.IntN(2))
			}
			for j := range 1 + r.IntN(4) {
				k := b.Key(history.IntValue(int64(r.IntN(5))))
				if r.IntN(2) == 0 {
					b.Write(k, history.IntValue(int64(i*10+j)))
				} else {
					b.Read(k, history.IntValue(int64(r.IntN(i*10+1))))
				}
			}
			b.EndTxn(h)
		}
	})
}

// TestWindows: what a window has is what lies in it, told one transaction after the other; numbers and boxes count the
// same; the overview counts all.
func TestWindows(t *testing.T) {
	for seed := range uint64(300) {
		h := some(t, seed)
		x := newAxis(h)
		r := rand.New(rand.NewPCG(seed, 2))
		rows := 0
		for i := range x.rows {
			rows += len(x.rows[i].txns)
			for _, u := range x.rows[i].txns {
				must.Same(t, int(x.rowOf[u]), i, "seed %d: row of %d", seed, u)
			}
		}
		must.Equal(t, rows, h.NumTxns(), "seed %d: transactions in rows", seed)
		for range 20 {
			from := r.Int64N(x.span + 1)
			to := from + r.Int64N(x.span+1-from)
			first := r.IntN(len(x.rows))
			n := 1 + r.IntN(len(x.rows))
			w := x.window(from, to, first, n, 7)
			var want, have []uint32
			for u := range uint32(h.NumTxns()) {
				in := int(x.rowOf[u]) >= first && int(x.rowOf[u]) < first+n
				if in && x.end[u] >= from && x.start[u] <= to {
					want = append(want, u)
				}
			}
			dense := 0
			for i, row := range w.Rows {
				for _, box := range row.Boxes {
					have = append(have, uint32(box[0]))
				}
				lo, hi := x.within(&x.rows[first+i], from, to)
				all, _ := x.bins(x.rows[first+i].txns[lo:hi], from, to, 7)
				for _, c := range all {
					dense += int(c)
				}
			}
			slices.Sort(have)
			if !slices.Equal(have, want) || dense != len(want) {
				t.Fatalf("seed %d: window %d to %d, rows %d to %d: %v and %d; expected %v", seed, from, to, first,
					first+n, have, dense, want)
			}
		}
		o := x.overview(13)
		sum := func(bins []int32) (n int) {
			for _, c := range bins {
				n += int(c)
			}
			return n
		}
		bands := 0
		for _, b := range o.Bands {
			bands += sum(b.Bins)
		}
		if all := sum(o.Committed) + sum(o.Aborted) + sum(o.Unknown); all != h.NumTxns() || bands != all ||
			sum(o.Ops) != h.NumOps() {
			t.Fatalf("seed %d: the overview has %d, in bands %d, of %d", seed, all, bands, h.NumTxns())
		}
	}
}

// TestKeyTable: who touched a key, and how many pairs did at once, is what counting them pair by pair says.
func TestKeyTable(t *testing.T) {
	for seed := range uint64(300) {
		h := some(t, seed)
		x := newAxis(h)
		k := must.Get(newKeys(t.Context(), x, func(int) {}))(t)
		for key := range uint32(h.NumKeys()) {
			var touched []uint32
			var reads, writers uint32
			for u := range uint32(h.NumTxns()) {
				c := touches(h, u, key)
				if len(c) > 0 {
					touched = append(touched, u)
				}
				for _, one := range c {
					if !one.wrote {
						reads++
					}
				}
				if writes(h, u, key) {
					writers++
				}
			}
			pairs := uint64(0)
			for i, u := range touched {
				for _, v := range touched[:i] {
					if (writes(h, u, key) || writes(h, v, key)) && x.start[u] <= x.end[v] && x.start[v] <= x.end[u] {
						pairs++
					}
				}
			}
			s := k.stat[key]
			if !slices.Equal(k.of(key), touched) || s.reads != reads || s.writers != writers || s.overlaps != pairs {
				t.Fatalf("seed %d: key %d: %v, %d reads, %d writers, %d pairs; expected %v, %d, %d, %d", seed, key,
					k.of(key), s.reads, s.writers, s.overlaps, touched, reads, writers, pairs)
			}
		}
		for column := range columns {
			order := k.order(column)
			if !slices.IsSortedFunc(order, func(a, b uint32) int {
				return int(columns[column](k, b)) - int(columns[column](k, a))
			}) {
				t.Fatalf("seed %d: not sorted by %s", seed, column)
			}
		}
	}
}

// TestEdgesHold: every edge around every transaction of a strictly serializable history is in every order of it, so in
// the one that a checker finds, except one of several possible writers; those that the history shows are so without
// sessions and time too.
func TestEdgesHold(t *testing.T) {
	n := histtest.Long[uint64](105, 500)
	seen := map[string]int{}
	for seed := uint64(99); seed < n; seed++ {
		workload := []string{"mix", "rmw", "list-append", "booking", "rows"}[seed%5]
		h, err := datasets.Generate(t.Context(), datasets.Spec{Workload: workload, Txns: 60, Sessions: 5, Keys: 12,
			Seed: seed, AbortRate: 0.1})
		must.OK(t, err)
		b := held(t, h)
		for _, at := range []level.Level{level.StrictSerializable, level.Serializable} {
			c, reason := check.Choose(check.AutoName, "", h, at)
			if c == nil {
				t.Fatal(reason)
			}
			r, err := check.Run(t.Context(), c, h, check.Options{Level: at})
			must.Hold(t, err == nil && r.Verdict == evidence.Holds, "seed %d: %v %v", seed, r, err)
			place := map[uint32]int{}
			for i, u := range r.Order {
				place[u] = i
			}
			for u := range uint32(h.NumTxns()) {
				d := b.deps(u)
				for _, e := range d.Edges {
					x, counts := place[e.From]
					y, too := place[e.To]
					strict := e.Dep == "so" || e.Dep == "rt" || !e.Known
					if !counts || !too || e.Dep == "wr" && !e.Known || at == level.Serializable && strict {
						continue
					}
					seen[fmt.Sprint(e.Dep, e.Known)]++
					if x >= y {
						t.Errorf("seed %d, %s, %s: around %s: %s (known %v, %s)", seed, workload, at,
							b.named(u).Name, e.Why, e.Known, e.By)
					}
					if e.Why == "" || len(e.Rests) == 0 || !e.Known && e.By == "" {
						t.Errorf("seed %d: no reason: %+v", seed, e)
					}
				}
			}
		}
	}
	for _, kind := range []string{"sotrue", "rttrue", "wrtrue", "wwtrue", "wwfalse", "rwtrue", "rwfalse", "pwrfalse",
		"prwtrue"} {
		must.Be(t, seen[kind] != 0, "there was no edge of kind %s: %v", kind, seen)
	}
}
