package check

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"isovet/certify"
	"isovet/check/minitxn"
	"isovet/check/run"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// alone copies a history so that each transaction is a session of its own: linearizability knows no sessions, so it is
// strict serializability of that.
func alone(t testing.TB, h *history.History) *history.History {
	return moved(t, h, history.None)
}

// moved is alone, with one transaction moved to the beginning of time.
func moved(t testing.TB, h *history.History, early uint32) *history.History {
	t.Helper()
	b := history.NewBuilder()
	b.Initial = h.Initial
	key := func(k uint32) uint32 { return b.Key(b.StringValue(h.Texts.AppendValue(nil, h.Keys[k]))) }
	for k := range h.Keys {
		key(uint32(k))
	}
	for x := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(x)
		for op := lo; op < hi; op++ {
			k, v := h.OpKey(op), h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Read:
				b.Read(key(k), h.VerValue(v))
			case history.Write:
				b.Write(key(k), h.VerValue(v))
			case history.PredRead:
				b.Predicate(history.PredRead, h.Texts.Text(h.Preds.Pred[v]), nil)
			}
		}
		head := history.NewTxnHead()
		head.ID, head.HasID = h.Txns.ID[x], true
		head.Start, head.End, head.Status, head.Init = h.Start(x), h.End(x), h.Txns.Status[x], x == h.Init
		if x == early {
			head.Start, head.End = 0, 0
		}
		b.EndTxn(head)
	}
	return must.Get(b.Build())(t)
}

// registerHistory is a random history of one register with failed compare-and-sets that say only what was not there.
func registerHistory(seed uint64) *history.History {
	rng := rand.New(rand.NewPCG(seed, 77))
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	k := b.Key(history.IntValue(1))
	now := int64(10)
	cur := int64(0)
	for range 2 + rng.IntN(6) {
		v, w := int64(rng.IntN(3)), int64(rng.IntN(3))
		now += int64(rng.IntN(4))
		h := history.NewTxnHead()
		h.Start, h.End = now-rng.Int64N(6), now+rng.Int64N(6)
		switch rng.IntN(4) {
		case 0:
			if rng.IntN(4) > 0 {
				v = cur
			}
			b.Read(k, history.IntValue(v))
		case 1:
			b.Write(k, history.IntValue(w))
			cur = w
		case 2:
			if v == cur || rng.IntN(4) == 0 {
				b.Read(k, history.IntValue(v))
				b.Write(k, history.IntValue(w))
				cur = w
				break
			}
			fallthrough
		default:
			b.Predicate(history.PredRead, []byte(`{"":{"=":`+string(rune('0'+v))+`}}`), nil)
		}
		if rng.IntN(6) == 0 {
			h.Status, h.End = history.Unknown, history.NoTime
		}
		b.EndTxn(h)
	}
	return must.Have(b.Build())
}

// TestLWTAgainstOracle: histories of single-key transactions are linearizable exactly if brute force finds an order in
// real time, and each answer is certified: chains, registers with blind writes, with values written twice, with failed
// compare-and-sets.
func TestLWTAgainstOracle(t *testing.T) {
	n := histtest.Long[uint64](330, 40_000)
	for _, c := range []struct {
		name string
		make func(seed uint64) *history.History
	}{
		{"lwt", func(s uint64) *history.History {
			return random.Tiny(s, random.Options{Mini: true, Single: true, Txns: 7, Sessions: 5, Unknown: s%3 == 1,
				Aborted: s%3 == 2})
		}},
		{"blind", func(s uint64) *history.History {
			return random.Tiny(s, random.Options{Single: true, Txns: 7, Sessions: 5, Unknown: s%3 == 1,
				Aborted: s%3 == 2})
		}},
		{"duplicates", func(s uint64) *history.History {
			return random.Tiny(s, random.Options{Single: true, Duplicates: true, Deletes: s%5 == 4, Txns: 7,
				Sessions: 5, Unknown: s%3 == 1, Aborted: s%3 == 2})
		}},
		{"failed", registerHistory},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := map[string]int{}
			histtest.Each(t, n, func(seed uint64) *history.History { return c.make(seed) }, func(t testing.TB,
				seed uint64, h *history.History) {
				want := must.Get(oracle.Check(alone(t, h),
					oracle.Options{Level: level.StrictSerializable, VerdictOnly: true}))(t)
				r := answer(t, run.Lwt{}, h, Options{Level: level.Linearizable})
				agree(t, r, want.Verdict)
				restore := low("run.maxCandidates")
				few, err := Run(context.Background(), run.Lwt{}, h, Options{Level: level.Linearizable})
				restore()
				if err != nil || few.Verdict != r.Verdict {
					t.Fatalf("seed %d: %s, but without candidates %v, %v\n%s", seed, r.Verdict, few, err,
						notation.Format(h))
				}
				agree(t, answer(t, called("porcupine"), h, Options{Level: level.Linearizable}), r.Verdict)
				rng := rand.New(rand.NewPCG(seed, 3))
				for range 20 { // of a history that has an order nobody takes a core
					ops := make([]uint32, 2+rng.IntN(3))
					for i := range ops {
						ops[i] = uint32(rng.IntN(h.NumOps()))
					}
					key := h.OpKey(ops[0])
					if key == history.None { // a predicate's; there is one key
						key = 0
					}
					lie := &evidence.Result{H: h, Level: level.Linearizable, Verdict: evidence.Violated,
						Anomalies: []evidence.Anomaly{{Kind: level.NonLinearizable, Ops: ops, Key: key}}}
					lie.Anomalies[0].Complete(h, level.Linearizable, 0)
					if certify.Check(lie, certify.Options{}) == nil {
						if r.Verdict == evidence.Holds {
							t.Fatalf("seed %d: %v are no reason\n%s", seed, ops, notation.Format(h))
						}
						seen["core"]++
					}
				}
				seen[r.Verdict.String()]++
				if _, ok := r.Stats.Stages["chains"]; ok {
					seen["chains"]++
				}
				if r.Verdict == evidence.Violated {
					seen[string(r.Anomalies[0].Kind)]++
				}
			})
			t.Log(seen)
			few := int(n) / 10
			histtest.Mix(t, seen["valid"] < few || seen["violation"] < few || c.name == "lwt" && seen["chains"] < few,
				"the mix is lopsided: %v", seen)
		})
	}
}

// TestLWT: errata M7's cases.
func TestLWT(t *testing.T) {
	for _, c := range []struct {
		h    string
		want evidence.Verdict
	}{
		// the insert's own time counts
		{"init=null: s1: r(x,null) w(x,0) @[5,6] | s2: r(x,0) w(x,1) @[2,3]", evidence.Violated},
		// touching is concurrent
		{"init=null: s1: r(x,null) w(x,0) @[1,2] | s2: r(x,0) w(x,1) @[2,3]", evidence.Holds},
		// no insert: reads of absent
		{"init=null: s1: r(x,null) @[1,2] | s2: r(x,null) @[3,4]", evidence.Holds},
		// a failed insert that should not have
		{"init=null: s1: r(x,null) w(x,0) @[1,2] | s2: r(x,null) @[3,4]", evidence.Violated},
		// a timed-out insert that was read
		{"init=null: s1: r(x,null) w(x,0)? @[1,_] | s2: r(x,0) @[9,10]", evidence.Holds},
		// but not before it began
		{"init=null: s1: r(x,null) w(x,0)? @[11,_] | s2: r(x,0) @[9,10]", evidence.Violated},
		{"init=null: s1: r(x,null) w(x,0)? @[1,_] | s2: r(x,null) w(x,1) @[9,10]", evidence.Holds},
		{"init=null: s1: r(x,null) w(x,0) @[1,2] | s2: r(x,null) w(x,1) @[1,2]", evidence.Violated}, // two inserts
		{"init=0: s1: w(x,1) @[1,2] | s2: w(x,2) @[1,2] | s3: r(x,1) @[3,4] | s4: r(x,2) @[5,6]", evidence.Violated},
	} {
		h := notation.MustParse(c.h)
		r := answer(t, run.Lwt{}, h, Options{Level: level.Linearizable})
		agree(t, r, c.want)
	}
}

// TestLWTLarge: a run of the workload is linearizable, by chains alone; with one read changed it is not, and the cycle
// is short.
func TestLWTLarge(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "lwt", Txns: 20_000, Keys: 20,
		Sessions: 10}))(t)
	if _, ok := minitxn.Chains(h, 0); !ok {
		t.Error("chains do not decide the workload")
	}
	c, ok := Auto(h, level.Linearizable)
	must.Hold(t, ok && c.Info().Name == "lwt", "auto takes %v", c)
	r := answer(t, c, h, Options{Level: level.Linearizable})
	agree(t, r, evidence.Holds)
	for x := uint32(15_000); x < 15_010; x++ {
		g := moved(t, h, x)
		r := answer(t, c, g, Options{Level: level.Linearizable})
		must.Be(t, r.Verdict == evidence.Violated && len(r.Anomalies[0].Cycle) != 0 && len(r.Anomalies[0].Cycle) <= 3,
			"transaction %d: %s %s %+v", x, r.Verdict, r.Reason, r.Anomalies)
	}
	// A transaction on two keys has no place here.
	agree(t, answer(t, c, notation.MustParse("init=0: s1: r(x,0) r(y,0) @[1,2]"),
		Options{Level: level.Linearizable}), evidence.Unknown)
}

// TestLWTFewValues: operations one after the other on one key take memory linear in their number, where all write one
// of three values: 7,500 bytes at most. The pairs of a read and a possible writer would add 6,600 bytes for each read.
func TestLWTFewValues(t *testing.T) {
	const n = 5_000
	for _, want := range []evidence.Verdict{evidence.Holds, evidence.Violated} {
		b := history.NewBuilder()
		b.Initial = history.IntValue(0)
		k := b.Key(history.IntValue(1))
		for i := range int64(2 * n) {
			v := 1 + i/2%3
			if want == evidence.Violated && i == 2*n-1 {
				v = 1 + v%3
			}
			if i%2 == 0 {
				b.Write(k, history.IntValue(v))
			} else {
				b.Read(k, history.IntValue(v))
			}
			head := history.NewTxnHead()
			head.Start, head.End = 10*i, 10*i+5
			b.EndTxn(head)
		}
		h := must.Get(b.Build())(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Run(context.Background(), run.Lwt{}, h, Options{Level: level.Linearizable})
		runtime.ReadMemStats(&after)
		must.Hold(t, err == nil && r.Verdict == want, "%v, %v; want %s", r, err, want)
		if got := (after.TotalAlloc - before.TotalAlloc) / n; got > 2*n {
			t.Errorf("%s: %d bytes for a write and its read", want, got)
		}
	}
}
