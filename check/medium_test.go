package check

import (
	"math/rand/v2"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestClockSkew: clocks that are apart by what the option allows for never make a valid run a violation.
func TestClockSkew(t *testing.T) {
	bad := 0
	randtest.Seeds(t, randtest.Long[uint64](2, 20), func(t testing.TB, seed uint64) {
		const skew = 2_000_000
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Txns: 200, Keys: 20, Sessions: 8, Seed: seed,
			Skew: skew}))(t)
		for _, c := range []Checker{run.Vbox{}, called("cobra"), called("cobra-sessions")} {
			r := answer(t, c, h, Options{Level: level.StrictSerializable, ClockSkew: skew})
			agree(t, r, evidence.Holds)
			r = answer(t, c, h, Options{Level: level.StrictSerializable})
			if r.Verdict == evidence.Violated {
				bad++
			}
			agree(t, answer(t, c, h, Options{}), evidence.Holds)
		}
	})
	histtest.Mix(t, bad == 0, "the clocks are not apart enough for the test to mean anything")
}

// disguise tells the same history otherwise: other names for keys, values, sessions and transactions, and another order
// of transactions in the file that keeps each session's own.
func disguise(h *history.History, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 9))
	b := history.NewBuilder()
	keys := r.Perm(h.NumKeys())
	names := r.Perm(h.NumSessions())
	value := func(v history.Value) history.Value {
		if v.Kind == history.Int {
			v.N = v.N*7 - 3
		}
		return v
	}
	b.Initial = value(h.Initial)
	end := func(t uint32, head history.TxnHead) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			k := b.Key(history.IntValue(int64(keys[h.VerKey[v]])))
			if h.Ops.Kind[op] == history.Read {
				b.Read(k, value(h.VerValue(v)))
			} else {
				b.Write(k, value(h.VerValue(v)))
			}
		}
		b.EndTxn(head)
	}
	if h.Init != history.None {
		head := history.NewTxnHead()
		head.Init = true
		end(h.Init, head)
	}
	next := make([]uint32, h.NumSessions())
	copy(next, h.SessOff)
	var left []int
	for s := range next {
		for range h.SessOff[s+1] - h.SessOff[s] {
			left = append(left, s)
		}
	}
	r.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	for _, s := range left {
		t := h.SessTxn[next[s]]
		next[s]++
		if t == h.Init {
			continue
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(names[s]), true
		head.Status, head.Start, head.End = h.Txns.Status[t], h.Start(t), h.End(t)
		end(t, head)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}

// TestDisguised: names and the order in the file do not matter.
func TestDisguised(t *testing.T) {
	verdicts := map[evidence.Verdict]int{}
	histtest.Each(t, histtest.Long[uint64](165, 1500), func(seed uint64) *history.History {
		h := random.Tiny(seed, random.Options{Txns: 7, Keys: 3, Aborted: true, Unknown: true, NoTimes: seed%3 == 0})
		if seed%10 == 0 {
			h = random.Medium(seed, random.Options{Txns: 60})
		}
		return h
	}, func(t testing.TB, seed uint64, h *history.History) {
		g := disguise(h, seed)
		for _, l := range run.SerialLevels {
			for _, c := range []Checker{run.Vbox{}, called("cobra"), called("cobra-sessions")} {
				a := answer(t, c, h, Options{Level: l})
				b := answer(t, c, g, Options{Level: l})
				agree(t, a, b.Verdict)
				verdicts[a.Verdict]++
			}
		}
	})
	t.Log(verdicts)
}
