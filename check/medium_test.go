package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestMedium: on random histories of up to 200 transactions, half of them disturbed, vbox and cobra agree with every
// solver, and each answer is certified.
func TestMedium(t *testing.T) {
	seeds := histtest.Long[uint64](4, 240)
	if testing.Short() {
		seeds = 20
	}
	verdicts := map[string]int{}
	histtest.Each(t, seeds, func(seed uint64) *history.History {
		o := random.Options{Aborted: seed%3 == 0, Unknown: seed%5 == 0, NoTimes: seed%4 == 0}
		if seed%2 == 0 {
			o.Keys, o.Sessions = 100, 20 // room for open choices
		}
		return random.Medium(seed, o)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.SerialLevels {
			want, err := Run(context.Background(), run.Vbox{}, h, Options{Level: l})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, l, err)
			}
			verdicts[fmt.Sprintf("%s %s", l, want.Verdict)]++
			for _, c := range []Checker{run.Vbox{}, called("cobra"), called("cobra-sessions")} {
				solvers := c.Info().Solvers
				r, err := Run(context.Background(), c, h, Options{Level: l, Solver: solvers[int(seed)%len(solvers)]})
				if err != nil {
					t.Fatalf("seed %d, %s, %s: %v", seed, l, c.Info().Name, err)
				}
				if r.Verdict != want.Verdict {
					t.Fatalf("seed %d, %s: %s:%s says %s (%s), vbox %s (%s)", seed, l, c.Info().Name, r.Solver,
						r.Verdict, r.Reason, want.Verdict, want.Reason)
				}
			}
		}
	})
	t.Log(verdicts)
	for _, l := range run.SerialLevels {
		for _, v := range []evidence.Verdict{evidence.Holds, evidence.Violated} {
			if k := fmt.Sprintf("%s %s", l, v); histtest.Whole() && verdicts[k] < int(seeds)/10 {
				t.Errorf("%s came up %d times only", k, verdicts[k])
			}
		}
	}
}

// TestPlanted: a fault planted in a larger run is found at every level that it violates, and nothing is found
// elsewhere.
func TestPlanted(t *testing.T) {
	for i, f := range datasets.Faults() {
		h, err := datasets.Generate(context.Background(), datasets.Spec{Txns: 150, Keys: 60, Sessions: 8,
			Seed: uint64(i), Fault: f.Name})
		must.OK(t, err)
		for _, l := range run.SerialLevels {
			want := evidence.Holds
			for _, v := range f.Violates {
				if v == l {
					want = evidence.Violated
				}
			}
			for _, c := range []Checker{run.Vbox{}, called("cobra"), called("cobra-sessions")} {
				r, err := Run(context.Background(), c, h, Options{Level: l})
				if err != nil {
					t.Fatalf("%s, %s, %s: %v", f.Name, l, c.Info().Name, err)
				}
				if r.Verdict != want {
					t.Errorf("%s, %s: %s says %s (%s); want %s", f.Name, l, c.Info().Name, r.Verdict, r.Reason, want)
				}
			}
		}
	}
}

// TestClockSkew: clocks that are apart by what the option allows for never make a valid run a violation.
func TestClockSkew(t *testing.T) {
	bad := 0
	randtest.Seeds(t, randtest.Long[uint64](2, 20), func(t testing.TB, seed uint64) {
		const skew = 2_000_000
		h, err := datasets.Generate(context.Background(), datasets.Spec{Txns: 200, Keys: 20, Sessions: 8, Seed: seed,
			Skew: skew})
		must.OK(t, err)
		for _, c := range []Checker{run.Vbox{}, called("cobra"), called("cobra-sessions")} {
			r, err := Run(context.Background(), c, h, Options{Level: level.StrictSerializable, ClockSkew: skew})
			if err != nil || r.Verdict != evidence.Holds {
				t.Errorf("seed %d: %s says %v, %v", seed, c.Info().Name, r, err)
			}
			r = must.Get(Run(context.Background(), c, h, Options{Level: level.StrictSerializable}))(t)
			if r.Verdict == evidence.Violated {
				bad++
			}
			if r, err = Run(context.Background(), c, h, Options{}); err != nil || r.Verdict != evidence.Holds {
				t.Errorf("seed %d: serializable: %s says %v, %v", seed, c.Info().Name, r, err)
			}
		}
	})
	if histtest.Whole() && bad == 0 {
		t.Error("the clocks are not apart enough for the test to mean anything")
	}
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
				a, err := Run(context.Background(), c, h, Options{Level: l})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				b, err := Run(context.Background(), c, g, Options{Level: l})
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if a.Verdict != b.Verdict {
					t.Fatalf("seed %d, %s: %s says %s of\n%s\nand %s of\n%s", seed, l, c.Info().Name, a.Verdict,
						notation.Format(h), b.Verdict, notation.Format(g))
				}
				verdicts[a.Verdict]++
			}
		}
	})
	t.Log(verdicts)
}
