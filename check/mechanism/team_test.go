package mechanism

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

// arrivals are the traces of whole transactions in the order in which they arrive, near that of their ends. Some rows
// are read by one statement, and some transactions overwrite what they read.
func (r *drawn) arrivals(rng *rand.Rand) [][]Trace {
	var all [][]Trace
	at := make([]int64, len(r.Txns))
	for id := range r.Txns {
		t := &r.Txns[id]
		out := []Trace{{Kind: Begin, Bef: t.Start, Aft: t.Start, Val: uint64(id)}}
		for n, op := range t.Ops {
			op.Op = uint32(n)
			if last := &out[len(out)-1]; n > 0 && op.Kind == Read && last.Kind == Read && rng.IntN(2) == 0 {
				op.Op, op.Bef, op.Aft = last.Op, last.Bef, last.Aft
			}
			out = append(out, op)
			if op.Kind == Read && rng.IntN(5) == 0 {
				op.Kind, op.Op, op.Val = Write, uint32(n)+10, uint64(id)*16+uint64(n)+1000
				out = append(out, op)
			}
		}
		all = append(all, append(out, Trace{Kind: t.Kind, Bef: t.C, Aft: t.D, Val: uint64(id)}))
		at[id] = t.C + rng.Int64N(8)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	out := make([][]Trace, len(all))
	for i, n := range order {
		out[i] = all[n]
	}
	return out
}

// TestDivided: parts and a rest find, transaction by transaction and in the same order, what one verifier finds.
func TestDivided(t *testing.T) {
	kinds := map[string]int{}
	randtest.Seeds(t, seeds(), func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0xd1))
		r := draw(seed, 2+rng.IntN(5), 30+rng.IntN(90), 2+rng.IntN(6))
		p := Profile{Reads: []Reads{TransactionReads, TransactionReads, StatementReads, NoReads}[rng.IntN(4)],
			WriteLocks: rng.IntN(2) == 0, ReadLocks: rng.IntN(3) == 0,
			Certifier: []Certifier{CycleCheck, SSICertifier, NoCertifier}[rng.IntN(3)]}
		if p.Reads == TransactionReads {
			p.Snapshot = []Snapshot{AtFirstStatement, AtFirstRead, AtBegin}[rng.IntN(3)]
			p.FirstUpdaterWins = rng.IntN(2) == 0
		}
		p.StaleReads = p.Reads != NoReads && rng.IntN(6) == 0
		o := OnlineOptions{Options: Options{Profile: p, Skew: rng.Int64N(3), Attach: rng.IntN(3) == 0,
			every: 1 + rng.IntN(40)}, Lateness: rng.Int64N(60)}
		arrivals := r.arrivals(rng)
		run := func(parts int) (out []string) {
			rng := rand.New(rand.NewPCG(seed, 0xd2))
			x := NewOnline(o)
			if parts > 0 {
				x.Divide(parts)
				for key := range uint32(r.Keys) {
					x.Place(key, uint64(key)*0x9e3779b97f4a7c15)
				}
				x.Open(rng.IntN(2) * 100)
			} else {
				rng.IntN(2)
			}
			var vs []Violation
			var us []Unjudged
			cuts := 0
			add := func(cut int) {
				for i := range vs {
					kinds[vs[i].Kind]++
					out = append(out, fmt.Sprintf("%d %+v", cut, vs[i]))
				}
				for i := range us {
					kinds["unjudged"]++
					out = append(out, fmt.Sprintf("%d %+v", cut, us[i]))
				}
			}
			base := 0
			cut := func() {
				if parts > 0 {
					x.Cut()
				} else {
					vs, us = x.Take()
					add(cuts)
				}
				cuts++
			}
			join := func() {
				if parts == 0 {
					rng.IntN(2)
					return
				}
				for _, f := range x.Join() {
					vs, us = f.Violations, f.Unjudged
					add(base + f.Cut)
				}
				base = cuts
				x.Open(rng.IntN(2) * 100)
			}
			since := 0
			for i, traces := range arrivals {
				x.Add(traces)
				if rng.IntN(30) == 0 {
					x.Foreign(append([]Trace(nil), traces...))
				}
				cut()
				if rng.IntN(20) == 0 || i == len(arrivals)-1 {
					join()
					x.Convict(since)
					since = x.Suspects()
					cut()
				}
			}
			x.Settle()
			cut()
			join()
			if parts > 0 {
				x.Join()
			}
			return out
		}
		want := run(0)
		for _, parts := range []int{1, 2, 5} {
			got := run(parts)
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Fatalf("seed %d, %d parts, %+v: finding %d:\n%s\n%s", seed, parts, p, i, slices.Concat(got,
						[]string{"none"})[min(i, len(got))], slices.Concat(want, []string{"none"})[min(i, len(want))])
				}
			}
		}
	})
	if !randtest.Whole() {
		return
	}
	for _, k := range []string{Overwritten, Uncommitted, NotVisible, NoSnapshot, Fractured, TwoHolders, LostUpdate,
		Cycle, "unjudged"} {
		if kinds[k] < 20 {
			t.Errorf("%d of kind %s are too few: %v", kinds[k], k, kinds)
		}
	}
	t.Log(kinds)
}
