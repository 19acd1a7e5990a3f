package check_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// cyclesOf checks linearizability, and demands of a violation that cycles show it, or few operations.
func cyclesOf(t *testing.T, h *history.History, few int) evidence.Verdict {
	t.Helper()
	c := must.Get(check.ByName("lwt"))(t)
	r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: level.Linearizable}))(t)
	if r.Verdict == evidence.Violated && len(r.Anomalies[0].Cycle)+len(r.Anomalies[0].Cycles) == 0 &&
		len(r.Anomalies[0].Txns) > few {
		t.Errorf("no cycle, but %+v", r.Anomalies[0])
	}
	return r.Verdict
}

// TestLinearizableCyclesOfSessions: registers of many clients, whose sessions are no part of the question, are refuted
// by cycles all the same. If clients write values again, mostly two operations have no order whatever the others do; in
// seed 2042 it takes 10, none of which can be spared, and a proof by cycles rests on 301.
func TestLinearizableCyclesOfSessions(t *testing.T) {
	histtest.Found(t, filepath.Join("testdata", "linearizable"), func(t *testing.T, text []byte) {
		h := must.Get(histtest.Read(text))(t)
		must.Equal(t, cyclesOf(t, h, 6), evidence.Violated, "six of a cycle")
	})
	said := map[evidence.Verdict]int{}
	for seed := range histtest.Long[uint64](33, 3000) {
		h := clients(t, seed)
		said[cyclesOf(t, h, map[bool]int{true: 10}[seed%4 == 2])]++
		must.Hold(t, !t.Failed(), "seed %d", seed)
	}
	must.Be(t, said[evidence.Unknown] <= 0 && said[evidence.Violated] >= 10 && said[evidence.Holds] >= 10, "%v", said)
}

// clients is a register that 5 to 15 clients write values of their own to, with some compare-and-sets, unknown outcomes
// and aborted writes; a read or two may be stale. Every fourth has five values, for all to write again.
func clients(t *testing.T, seed uint64) *history.History {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	b := history.NewBuilder()
	x := b.Key(history.IntValue(0))
	free := make([]int64, 5+r.IntN(11)) // when each client may begin again
	session := make([]int64, len(free))
	for c := range session {
		session[c] = int64(c)
	}
	past := []history.Value{{}}
	last, at := int64(0), int64(0) // operations take effect in the order in which they are made, at these times
	stale := 300 - r.IntN(200)
	for i := range 400 {
		c := r.IntN(len(free))
		at += 1 + r.Int64N(4)
		start := max(free[c], at-r.Int64N(20))
		if at = max(at, start); i == stale && seed%3 > 0 {
			b.Read(x, past[max(0, len(past)-3-r.IntN(3))])
		} else if cur := past[len(past)-1]; r.IntN(2) == 0 {
			b.Read(x, cur)
		} else {
			if seed%2 == 0 && r.IntN(2) == 0 {
				b.Read(x, cur)
			}
			if last++; seed%4 == 2 {
				last = r.Int64N(5)
			}
			b.Write(x, history.IntValue(last))
			past = append(past, history.IntValue(last))
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = session[c], true
		head.Start, head.End = start, at+r.Int64N(20)
		free[c] = head.End + 1
		if seed%5 == 0 && r.IntN(20) == 0 {
			head.Status = history.Unknown
			session[c] += int64(len(free))
		}
		b.EndTxn(head)
	}
	h := must.Get(b.Build())(t)
	return h
}
