package papers

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"isovet/check"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestCobraRoundsTiny: with rounds of a transaction or two, cobra-rounds says what cobra says, on tiny histories of
// every kind, at every level; Run certifies the orders, and every "no" has been proved on the whole history.
func TestCobraRoundsTiny(t *testing.T) {
	shapes := []random.Options{{}, {Txns: 9, Keys: 2, Sessions: 2}, {Txns: 14, Keys: 3, Sessions: 3, Ops: 3},
		{Txns: 20, Keys: 1, Sessions: 2, Ops: 2}, {Txns: 16, Keys: 4, Sessions: 4, Ops: 4}}
	verdicts := map[string]int{}
	forgot := 0
	histtest.Each(t, histtest.Long[uint64](550, 40000), func(seed uint64) *history.History {
		o := shapes[seed%5]
		o.Aborted, o.Unknown, o.NoTimes, o.Deletes = seed&1 != 0, seed&6 == 2, seed&8 != 0, seed&16 != 0
		return random.Tiny(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.SerialLevels {
			skew := int64(seed>>5&1) * 3
			want := must.Get(check.Run(t.Context(), cobra{}, h, run.Options{Level: l, ClockSkew: skew}))(t)
			got := must.Get(check.Run(t.Context(), CobraRounds(1+int(seed>>3&3)), h, run.Options{Level: l,
				ClockSkew: skew, Pipeline: run.Pipeline{Closure: []string{"", "purdom", "warshall"}[seed%7%3]}}))(t)
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: %s (%s), cobra %s\n%s", seed, l, got.Verdict, got.Reason, want.Verdict,
					notation.Format(h))
			}
			verdicts[fmt.Sprintf("%s %s", l, got.Verdict)]++
			if w := got.Stats.Window; got.Verdict == evidence.Holds && w > 0 && w < len(got.Order)-1 {
				forgot++
			}
		}
	})
	t.Log(verdicts, forgot)
	histtest.Mix(t, forgot < 150, "only %d histories of which something was forgotten", forgot)
}

// TestCobraRoundsFences: the same on runs with fences, of several workloads and of stores that violate the level or
// not.
func TestCobraRoundsFences(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	forgot := 0
	isolations := []string{"serializable", "serializable-snapshot", "snapshot-isolation", "read-committed"}
	faults := append([]string{""}, datasets.FaultNames()...)
	histtest.Each(t, histtest.Long[uint64](33, 3000), func(seed uint64) *history.History {
		spec := datasets.Spec{
			Workload: []string{"blindw", "blindw", "smallbank", "rmw", "mix"}[seed%5], Variant: []string{"RW", "WR", "",
				"", ""}[seed%5],
			Txns: 150 + int(seed%7)*20, Sessions: 2 + int(seed%5), FenceEvery: 3 + int(seed%4),
			Isolation: isolations[seed/2%4], Seed: seed,
			Keys: []int{0, 40, 200}[seed/3%3], AbortRate: .05, UnknownRate: .02 * float64(seed%2),
			Times: datasets.Times(seed % 3),
		}
		if seed%3 == 0 && spec.Workload == "blindw" {
			spec.Fault, spec.FaultAt = faults[int(seed)%len(faults)], int(seed)%spec.Txns+1
			spec.Sessions = max(spec.Sessions, 4) // which some faults need
		}
		return must.Get(datasets.Generate(context.Background(), spec))(t)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.SerialLevels {
			want := must.Get(check.Run(t.Context(), cobra{}, h, run.Options{Level: l}))(t)
			got := must.Get(check.Run(t.Context(), cobraRounds{batch: 5 + int(seed%40)}, h, run.Options{Level: l}))(t)
			if got.Verdict != want.Verdict {
				t.Fatalf("seed %d, %s: %s (%s), cobra %s (%s)", seed, l, got.Verdict, got.Reason, want.Verdict,
					want.Reason)
			}
			verdicts[got.Verdict]++
			if got.Verdict == evidence.Holds && got.Stats.Window < len(got.Order)*3/4 {
				forgot++
			}
		}
	})
	histtest.Mix(t, verdicts[evidence.Holds] < 15 || verdicts[evidence.Violated] < 15 || forgot < 12,
		"the mix is lopsided: %v; of %d something was forgotten", verdicts, forgot)
}

// TestCobraForgetsTheLargest holds collect against the definition: of all sets of the window's transactions with (a),
// (b) and (c), by brute force, it forgets the largest, which holds all others.
func TestCobraForgetsTheLargest(t *testing.T) {
	sizes := map[int]int{}
	histtest.Each(t, histtest.Long[uint64](825, 20000), func(seed uint64) *history.History {
		return random.Tiny(seed, random.Options{Txns: 12, Keys: 3, Sessions: 3, Ops: 3, NoTimes: seed&1 != 0,
			Unknown: seed&6 == 2})
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := level.SessionSerializable
		if seed&1 == 0 {
			l = level.StrictSerializable
		}
		x, done, _ := run.Begin(context.Background(), cobraRounds{}.Info(), h, run.Options{Level: l})
		if done {
			return
		}
		s := newRounds(x, run.Own(run.Options{Level: l}))
		for range len(s.arrival) * 3 / 4 {
			s.take()
		}
		p, stale := s.polygraph(s.at)
		must.Hold(t, !stale, "seed %d: stale in the first round", seed)
		reach, ok, err := cobraPrune(x, p)
		must.OK(t, err)
		if !ok {
			return
		}
		n := len(s.members)
		toCome := func(txn uint32) bool {
			return !slices.ContainsFunc(s.members, func(m member) bool { return m.txn == txn })
		}
		early := func(i int) bool {
			for _, f := range s.arrival {
				if !toCome(f) {
					continue
				}
				ok := l.RealTime() && h.Txns.End[s.members[i].txn] < h.Txns.Start[f] &&
					h.Txns.Status[s.members[i].txn] != history.Unknown
				for j, m := range s.members {
					ok = ok || m.txn != f && h.Txns.Sess[m.txn] == h.Txns.Sess[f] &&
						h.Txns.Status[m.txn] == history.Committed && reach.Reaches(p.Node[i], p.Node[j])
				}
				if !ok {
					return false
				}
				if l.RealTime() && h.Txns.Status[f] != history.Unknown &&
					h.Txns.End[f] < h.Txns.Start[s.members[i].txn] {
					return false
				}
			}
			return true
		}
		v := p.V
		reads := func(i int, w uint32) bool { return slices.Contains(v.RW[v.ROff[i]:v.ROff[i+1]], w) }
		valid := func(set uint) bool {
			in := func(i int) bool { return set>>i&1 != 0 }
			for i := range n {
				if !in(i) {
					continue
				}
				if s.members[i].waits || !early(i) {
					return false
				}
				for j := range n {
					if !in(j) && reach.Reaches(p.Node[j], p.Node[i]) {
						return false
					}
				}
				for w := v.WOff[i]; w < v.WOff[i+1]; w++ {
					may, ordered := true, true
					for o := int(v.WOff[0]); o < len(v.WKey); o++ {
						if j := int(v.WTxn[o]); j != i && v.WKey[o] == v.WKey[w] {
							if reach.Reaches(p.Node[i], p.Node[j]) {
								may = may && !early(j)
							} else if !reach.Reaches(p.Node[j], p.Node[i]) {
								ordered = false
							}
						}
					}
					for j := range n {
						may = may || !in(j) && reads(j, w)
					}
					if may && !ordered {
						return false
					}
				}
			}
			return true
		}
		best, all := uint(0), uint(0)
		for set := range uint(1) << n {
			if valid(set) {
				all |= set
				if bits.OnesCount(set) > bits.OnesCount(best) {
					best = set
				}
			}
		}
		must.Same(t, best, all, "seed %d: there is no largest", seed)
		before := slices.Clone(s.members)
		order, ok := p.Order(nil)
		must.Hold(t, ok, "seed %d: no order", seed)
		s.collect(p, reach, order)
		var got uint
		for i, m := range before {
			if s.here[m.txn] == forgotten {
				got |= 1 << i
			}
		}
		if got != best {
			t.Fatalf("seed %d, %s: forgets %b, could %b\n%s", seed, l, got, best, notation.Format(h))
		}
		sizes[bits.OnesCount(got)]++
	})
	histtest.Mix(t, len(sizes) < 5 || sizes[0] > 5*sizes[1]+5*sizes[2]+5*sizes[3], "the mix is lopsided: %v", sizes)
}

// TestCobraRoundsEpochs: what the paper's epochs show to precede everything to come does so here. Each session's fences
// tell in which epoch it is, and all agree on the least; what was done two epochs before precedes everything to come.
func TestCobraRoundsEpochs(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Variant: "RW", Txns: 1200, Sessions: 6,
		FenceEvery: 5, Isolation: "serializable-snapshot", Seed: 3}))(t)
	x, _, _ := run.Begin(context.Background(), cobraRounds{}.Info(), h, run.Options{Level: level.SessionSerializable})
	s := newRounds(x, run.Attempt{Level: level.SessionSerializable, Own: true})
	for range len(s.arrival) / 2 {
		s.take()
	}
	p, _ := s.polygraph(s.at)
	reach, ok, err := cobraPrune(x, p)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	key := uint32(slices.IndexFunc(h.Keys, func(k history.Value) bool { return k.Kind == history.String }))
	// An epoch is a fence of each session at least: fences are numbered by their place among all.
	fences := []uint32{}
	for _, m := range s.members {
		for w := x.View.WOff[m.txn]; w < x.View.WOff[m.txn+1]; w++ {
			if x.View.WKey[w] == key {
				fences = append(fences, m.txn)
			}
		}
	}
	slices.SortFunc(fences, func(a, b uint32) int {
		if reach.Reaches(p.Node[s.here[a]], p.Node[s.here[b]]) {
			return -1
		}
		return 1
	})
	epoch := make([]int, h.NumTxns()) // of a transaction: the place of its session's fence before it
	at := make([]int, h.NumSessions())
	for _, m := range s.members {
		if i := slices.Index(fences, m.txn); i >= 0 {
			at[h.Txns.Sess[m.txn]] = i + 1
		}
		epoch[m.txn] = at[h.Txns.Sess[m.txn]]
	}
	agreed := len(fences)
	for _, m := range s.members {
		agreed = min(agreed, at[h.Txns.Sess[m.txn]])
	}
	n := 0
	for i, m := range s.members {
		next := slices.IndexFunc(fences, func(f uint32) bool {
			return h.Txns.Sess[f] == h.Txns.Sess[m.txn] && slices.Index(fences, f)+1 > epoch[m.txn]
		})
		if next >= 0 && next+1 < agreed { // its session has begun another epoch, before the least of all
			n++
			if !s.precedes(p, reach, p.Node[i]) {
				t.Errorf("transaction %d, of epoch %d, does not precede everything to come, but %d is agreed upon",
					h.Txns.ID[m.txn], epoch[m.txn], agreed)
			}
		}
	}
	must.Be(t, n >= 300, "only %d transactions, of %d fences", n, len(fences))
}

// TestCobraRoundsWindow: the window stays as large as it is, however long the history; without fences, nothing links
// sessions that read and write nothing in common, and it grows.
func TestCobraRoundsWindow(t *testing.T) {
	window := func(txns, fence int) int {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Variant: "RW", Txns: txns, Sessions: 8,
			Keys: 300, FenceEvery: fence, Isolation: "serializable-snapshot", Seed: 1}))(t)
		r, err := check.Run(context.Background(), cobraRounds{batch: 64}, h,
			run.Options{Level: level.SessionSerializable})
		if err != nil || r.Verdict != evidence.Holds {
			t.Fatal(r, err)
		}
		return r.Stats.Window
	}
	a, b := window(2000, 10), window(8000, 10)
	t.Log(a, b)
	must.Be(t, b <= a*3/2, "a window of %d transactions for 2,000, of %d for 8,000", a, b)
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Variant: "RW", Txns: 400, Sessions: 4, Keys: 100000,
		Isolation: "serializable-snapshot", Seed: 1}))(t)
	r, err := check.Run(context.Background(), cobraRounds{batch: 16}, h, run.Options{Level: level.SessionSerializable})
	must.Be(t, err == nil && r.Verdict == evidence.Holds && r.Stats.Window >= 350, "%+v, %v", r, err)
}
