package check_test

import (
	"context"
	"runtime"
	"testing"

	"isovet/check/prepass"
	"isovet/check/weak"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// weakNaive is the axiom on a matrix: who is before whom by sessions and reads, what that demands, and whether all of
// it has a cycle.
func weakNaive(v *prepass.View, l level.Level) bool {
	h, n := v.H, v.H.NumTxns()
	matrix := func() [][]bool {
		m := make([][]bool, n)
		for i := range m {
			m[i] = make([]bool, n)
		}
		return m
	}
	closed := func(m [][]bool) {
		for k := range n {
			for i := range n {
				for j := range n {
					m[i][j] = m[i][j] || m[i][k] && m[k][j]
				}
			}
		}
	}
	so, before, past := matrix(), matrix(), matrix()
	for s := range h.NumSessions() {
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i, a := range txns {
			for _, b := range txns[i+1:] {
				so[a][b] = v.Counts[a] && v.Counts[b] && h.Txns.Status[a] == history.Committed
			}
		}
	}
	writes := func(t int, k uint32) bool {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			if v.WKey[w] == k {
				return true
			}
		}
		return false
	}
	reads := func(f func(t int, r uint32, from int)) {
		for t := range n {
			for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
				f(t, r, int(int32(v.WTxn[v.RW[r]])))
			}
		}
	}
	for a := range n {
		for b := range n {
			before[a][b] = so[a][b]
		}
	}
	reads(func(t int, r uint32, from int) {
		if from >= 0 {
			before[from][t] = true
		}
	})
	for a := range n {
		copy(past[a], before[a])
	}
	closed(past)
	ok := true
	reads(func(t3 int, r uint32, t1 int) {
		for t2 := range n {
			visible := past[t2][t3]
			if l != level.Causal {
				visible = l == level.ReadAtomic && so[t2][t3]
				for b := v.ROff[t3]; b < v.ROff[t3+1]; b++ {
					visible = visible || v.WTxn[v.RW[b]] == uint32(t2) && (b < r || l == level.ReadAtomic)
				}
			}
			if !visible || t2 == t1 || t2 == t3 || !writes(t2, v.RKey[r]) {
				continue
			}
			if ok = ok && t1 >= 0; ok {
				before[t2][t1] = true
			}
		}
	})
	closed(before)
	for t := range n {
		ok = ok && !before[t][t]
	}
	return ok
}

// TestWeakNaive holds Check against the axioms on a matrix, with guesses and without.
func TestWeakNaive(t *testing.T) {
	count := map[string]int{}
	histtest.Each(t, uint64(12000), func(seed uint64) *history.History {
		return random.Lagging(seed, random.Options{Txns: 30, Keys: 6, Sessions: 8, Ops: 5}, seed%2 == 0)
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range weak.Levels() {
			v := prepass.RunWith(h, prepass.Options{EachRead: l == level.ReadCommitted})
			if len(v.Anomalies) > 0 || v.Ambiguous() {
				continue
			}
			want := weak.Violated
			if weakNaive(v, l) {
				want = weak.Holds
			}
			for _, o := range []weak.Options{{}, {NoGuess: true}} {
				a := weak.Check(context.Background(), v, l, o)
				must.Equal(t, a.Status, want, "seed %d, %s, %+v", seed, l, o)
				if want == weak.Violated && len(a.Anomaly.Cycle) == 0 {
					t.Fatalf("seed %d, %s: a violation without a cycle", seed, l)
				}
				if a.Rounds > 1 {
					count["second guesses"]++
				}
			}
			count[l.String()+map[weak.Status]string{weak.Holds: " holds", weak.Violated: " violated"}[want]]++
		}
	})
	t.Log(count)
	for _, l := range weak.Levels() {
		histtest.Mix(t, count[l.String()+" holds"] < 500 || count[l.String()+" violated"] < 500,
			"the mix is lopsided at %s", l)
	}
	histtest.Mix(t, count["second guesses"] < 500, "only %d checks took a second guess", count["second guesses"])
}

// TestWeakStops: a context that has ended ends the check.
func TestWeakStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	v := prepass.Run(random.Lagging(1, random.Options{}, false))
	for _, l := range weak.Levels() {
		must.Equal(t, weak.Check(ctx, v, l, weak.Options{}).Status, weak.Stopped, "%s", l)
	}
}

// TestWeakLargeWriters: a transaction that wrote thousands of keys and was read by thousands costs the smaller of the
// two sets each.
func TestWeakLargeWriters(t *testing.T) {
	b := history.NewBuilder()
	const keys, readers = 5000, 5000
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	for k := range keys {
		b.Write(key(k), history.IntValue(1))
	}
	b.EndTxn(history.NewTxnHead())
	for t := range readers {
		b.Read(key(t), history.IntValue(1))
		b.Read(key((t+1)%keys), history.IntValue(1))
		b.EndTxn(history.NewTxnHead())
	}
	// One reader more misses one of the writes.
	b.Read(key(0), history.IntValue(1))
	b.Read(key(1), history.Value{})
	b.EndTxn(history.NewTxnHead())
	h := must.Get(b.Build())(t)
	for _, l := range weak.Levels() {
		a := weak.Check(context.Background(),
			prepass.RunWith(h, prepass.Options{EachRead: l == level.ReadCommitted}), l, weak.Options{})
		must.Be(t, a.Status == weak.Violated && evidence.Classify(a.Anomaly.Cycle) == level.ReadSkew,
			"%s: %d, %v", l, a.Status, a.Anomaly)
	}
}

// TestWeakLateReader: a transaction that reads old versions of thousands of keys is not held against itself, read by
// read.
func TestWeakLateReader(t *testing.T) {
	b := history.NewBuilder()
	const keys = 100_000
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	for value := range int64(2) {
		for k := range keys {
			b.Write(key(k), history.IntValue(value+1))
			if value == 1 {
				b.EndTxn(history.NewTxnHead())
			}
		}
		if value == 0 {
			b.EndTxn(history.NewTxnHead())
		}
	}
	for k := range keys {
		b.Read(key(k), history.IntValue(1))
	}
	b.EndTxn(history.NewTxnHead())
	h := must.Get(b.Build())(t)
	for _, l := range weak.Levels() {
		a := weak.Check(t.Context(), prepass.RunWith(h, prepass.Options{EachRead: l == level.ReadCommitted}), l,
			weak.Options{})
		must.Equal(t, a.Status, weak.Holds, "%s: %v", l, a.Anomaly)
	}
}

// TestWeakManySessions: where every read sees the current version no clocks are kept, which cost sessions ×
// transactions.
func TestWeakManySessions(t *testing.T) {
	const sessions = 20_000
	b := history.NewBuilder()
	for range 2 {
		for s := range int64(sessions) {
			k := b.Key(history.IntValue(s))
			if b.NumTxns() < sessions {
				b.Write(k, history.IntValue(1))
			} else {
				b.Read(k, history.IntValue(1))
			}
			head := history.NewTxnHead()
			head.HasSess, head.Session = true, s
			b.EndTxn(head)
		}
	}
	h := must.Get(b.Build())(t)
	v := prepass.Run(h)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := weak.Check(t.Context(), v, level.Causal, weak.Options{})
	runtime.ReadMemStats(&after)
	must.Be(t, a.Status == weak.Holds && a.Rounds == 1, "%d in %d rounds", a.Status, a.Rounds)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
		t.Errorf("%d MB were allocated; expected a few", mb)
	}
}

// TestWeakOpenWriter: a write of a transaction that does not count, since its outcome is open, is none of its key's
// when all orders are made.
func TestWeakOpenWriter(t *testing.T) {
	h := notation.MustParse("init=0: s1: w(x,1) @[0,1] | s2: w(y,7) @[2,3] | s3: w(y,7)? @[4,_] | s4: r(y,7) @[6,7] " +
		"| s2: r(x,1) @[8,9]")
	v := prepass.Run(h)
	must.Hold(t, len(v.Open) != 0, "no open outcome")
	for _, o := range []weak.Options{{}, {NoGuess: true}} {
		if a := weak.Check(t.Context(), v, level.Causal, o); a.Status != weak.Holds {
			t.Errorf("%+v: %d, %v", o, a.Status, a.Anomaly)
		}
	}
}
