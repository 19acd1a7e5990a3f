package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
)

// tiny makes a random history of few transactions on few keys: half of them from a serial run whose reads are then
// disturbed, half arbitrary.
func tiny(seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 1))
	b := history.NewBuilder()
	txns, keys, sessions := 1+r.IntN(6), 1+r.IntN(3), 1+r.IntN(4)
	if r.IntN(2) == 0 {
		b.Initial = history.IntValue(0)
	}
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	next := int64(1)
	state := make([]history.Value, keys)
	written := make([][]history.Value, keys)
	for k := range state {
		state[k] = b.Initial
		written[k] = append(written[k], b.Initial)
	}
	if r.IntN(2) == 0 {
		for k := range keys {
			if r.IntN(3) > 0 {
				state[k] = history.IntValue(100 + int64(k))
				written[k] = append(written[k], state[k])
				b.Write(key(k), state[k])
			}
		}
		h := history.NewTxnHead()
		h.Init, h.ID, h.HasID = true, 1000, true
		b.EndTxn(h)
	}
	serial := r.IntN(3) > 0
	times := r.IntN(4) > 0
	now := int64(0)
	for t := range txns {
		h := history.NewTxnHead()
		h.ID, h.HasID = int64(t+1), true
		h.Session, h.HasSess = int64(r.IntN(sessions)), true
		switch r.IntN(10) {
		case 0:
			h.Status = history.Aborted
		case 1:
			h.Status = history.Unknown
		}
		if times {
			now += int64(r.IntN(3))
			h.Start = max(0, now-int64(r.IntN(4)))
			h.End = h.Start + int64(r.IntN(6))
			if h.Status == history.Unknown && r.IntN(2) == 0 {
				h.End = history.NoTime
			}
		}
		mine := map[int]history.Value{}
		for range 1 + r.IntN(4) {
			k := r.IntN(keys)
			if r.IntN(2) == 0 {
				v := history.IntValue(next)
				next++
				b.Write(key(k), v)
				mine[k] = v
				written[k] = append(written[k], v)
				continue
			}
			v := state[k]
			if own, ok := mine[k]; ok {
				v = own
			}
			if !serial || r.IntN(8) == 0 {
				v = written[k][r.IntN(len(written[k]))]
			}
			if r.IntN(60) == 0 {
				v = history.IntValue(next + int64(r.IntN(4)))
			}
			b.Read(key(k), v)
		}
		if h.Status != history.Aborted {
			for k, v := range mine {
				state[k] = v
			}
		}
		b.EndTxn(h)
	}
	h, err := b.Build()
	if err != nil {
		panic(err)
	}
	return h
}

// TestAgainstBruteForce holds every checker × solver against the oracle on thousands of tiny histories; Run certifies
// each answer on the way.
func TestAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](192, 6000)
	verdicts := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History {
		// which has thin-air reads and ends of unknown transactions; random.Tiny has snapshots and coarse clocks
		h := tiny(seed)
		if seed%2 == 1 {
			h = random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Aborted: seed%3 == 0, Unknown: seed%5 > 2,
				NoTimes: seed%8 == 1})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range orderLevels {
			want, err := Run(context.Background(), bruteForce{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, c := range All() {
				in := c.Info()
				if in.Hidden || in.Timestamps || !slices.Contains(in.Levels, l) || in.Name == "elle" {
					continue // elle decides lists: TestListsAgainstBruteForce
				}
				solvers := in.Solvers
				if len(solvers) == 0 {
					solvers = []string{""}
				} else if seed%4 != 0 {
					solvers = []string{in.Solvers[int(seed)%len(in.Solvers)]}
				}
				for _, s := range solvers {
					got, err := Run(context.Background(), c, h, Options{Level: l, Solver: s})
					if err != nil {
						t.Fatalf("seed %d, %s, %s:%s: %v\n%s", seed, l, in.Name, s, err, dump(h))
					}
					incomplete := got.Verdict == evidence.Unknown && (in.Name == "elle-register" &&
						strings.HasPrefix(got.Reason, "incomplete") || orderOpen(in, got))
					if got.Verdict != want.Verdict && !incomplete {
						t.Fatalf("seed %d, %s: %s:%s says %s (%s), brute force %s\n%s", seed, l, in.Name, s,
							got.Verdict, got.Reason, want.Verdict, dump(h))
					}
					verdicts[in.Name+" "+got.Verdict.String()]++
				}
			}
		}
	})
	t.Log(verdicts)
	if histtest.Whole() && (verdicts["vbox valid"] < int(n)/4 || verdicts["vbox violation"] < int(n)/4) {
		t.Errorf("the mix is lopsided: %v", verdicts)
	}
}

func dump(h *history.History) string {
	s := ""
	for t := range uint32(h.NumTxns()) {
		s += fmt.Sprintf("%d s%d %s [%d,%d]:", h.Txns.ID[t], h.Txns.Sess[t], h.Txns.Status[t], h.Start(t), h.End(t))
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			s += fmt.Sprintf(" %s(%s,%s)", h.Ops.Kind[op], h.KeyString(h.OpKey(op)), h.ValueString(h.Ops.Ver[op]))
		}
		s += "\n"
	}
	return s
}

// orderOpen reports whether a checker that needs version orders says that they are not known.
func orderOpen(in Info, r *evidence.Result) bool {
	return in.Partial && r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason,
		"the order of versions is not known")
}
