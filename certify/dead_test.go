package certify_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestDead: whoever reads only from transactions that cannot have committed. Transactions of unknown outcome contradict
// themselves, or read from such, or from nobody.
func TestDead(t *testing.T) {
	h := notation.MustParse("init=0: s0: r(a,3) r(a,0) w(b,1)? | s2: r(b,1) w(b,1)? | s1: r(b,1) | s3: w(a,3) | s4: " +
		"r(c,9) w(b,1)? | s5: w(d,1) r(d,0) w(b,1)? | s6: w(e,1)?")
	ops := func(ids ...int64) []uint32 { // the first operations of transactions, by id
		return slice.Map(ids, func(id int64) uint32 { return h.Txns.OpOff[slices.Index(h.Txns.ID, id)] })
	}
	t1, t5, t6 := ops(1)[0], ops(5)[0], ops(6)[0]
	good := evidence.Anomaly{Kind: level.G1a, Ops: ops(3), Dead: [][]uint32{{t1, t1 + 1}, {t5}, {t6, t6 + 1}, ops(2)}}
	try := func(l level.Level, change func(a *evidence.Anomaly)) error {
		a := good
		a.Dead = nil
		for _, d := range good.Dead {
			a.Dead = append(a.Dead, slices.Clone(d))
		}
		change(&a)
		if a.Txns == nil {
			seen := map[uint32]bool{}
			for _, op := range slices.Concat(append([][]uint32{a.Ops}, a.Dead...)...) {
				if int(op) < h.NumOps() && !seen[h.TxnOf(op)] {
					seen[h.TxnOf(op)] = true
					a.Txns = append(a.Txns, h.TxnOf(op))
				}
			}
		}
		return certify.Check(&evidence.Result{H: h, Level: l, Verdict: evidence.Violated,
			Anomalies: []evidence.Anomaly{a}}, certify.Options{})
	}
	for _, l := range six {
		must.OK(t, try(l, func(*evidence.Anomaly) {}), "%s", l)
	}
	if err := try(level.ReadCommitted, func(*evidence.Anomaly) {}); err == nil || !strings.Contains(err.Error(),
		"impossible") {
		t.Errorf("read committed does not ask for repeatable reads: %v", err)
	}
	for _, c := range []struct {
		want   string
		change func(a *evidence.Anomaly)
	}{
		{"expected one read", func(a *evidence.Anomaly) { a.Ops = append(a.Ops, a.Ops[0]) }},
		{"expected one read", func(a *evidence.Anomaly) { a.Kind = level.G1b }},
		{"a version of transaction 1", func(a *evidence.Anomaly) { a.Dead = a.Dead[1:] }},
		{"a version of transaction 2", func(a *evidence.Anomaly) { a.Dead = a.Dead[:3] }},
		{"a version of transaction 5", func(a *evidence.Anomaly) { a.Dead = slices.Delete(a.Dead, 1, 2) }},
		{"a version of transaction 1", func(a *evidence.Anomaly) { slices.Reverse(a.Dead) }},
		{"not of unknown outcome", func(a *evidence.Anomaly) { a.Dead[1] = ops(4) }},
		{"not of unknown outcome", func(a *evidence.Anomaly) { a.Dead[1] = ops(3) }},
		{"initial version", func(a *evidence.Anomaly) { a.Dead[0] = []uint32{t1 + 1} }},
		{"did not read a version", func(a *evidence.Anomaly) { a.Dead[0] = []uint32{t1 + 2} }},
		{"later read", func(a *evidence.Anomaly) { slices.Reverse(a.Dead[0]) }},
		{"later read", func(a *evidence.Anomaly) { a.Dead[0][1]++ }},
		{"later read", func(a *evidence.Anomaly) { a.Dead[1] = append(ops(2), ops(2)[0]+1) }},
		{"0 operations", func(a *evidence.Anomaly) { a.Dead[1] = nil }},
		{"there is no operation 99", func(a *evidence.Anomaly) { a.Dead[1] = []uint32{99} }},
		{"there is no operation 99", func(a *evidence.Anomaly) { a.Ops = []uint32{99} }},
		{"but the anomaly does not list it", func(a *evidence.Anomaly) { a.Txns = []uint32{0, 1, 2} }},
		{"has operations and cycles", func(a *evidence.Anomaly) {
			a.Kind, a.Ops, a.Cycle = level.G1c, nil, []evidence.Edge{{From: 0, To: 1}, {From: 1, To: 0}}
		}},
		{"has a cycle", func(a *evidence.Anomaly) { a.Cycle = []evidence.Edge{{From: 0, To: 1}, {From: 1, To: 0}} }},
	} {
		if err := try(level.Serializable, c.change); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; expected %q", err, c.want)
		}
	}
	// Nobody says that the reader, of unknown outcome itself, counts; but where a committed one read from it alone, it
	// does.
	for text, want := range map[string]bool{
		"init=0: s0: r(a,9) w(b,1)? | s1: r(b,1) w(c,1)?":                                   false,
		"init=0: s0: r(a,9) w(b,1)? | s1: r(b,1) w(c,1)? | s2: r(c,1) | s3: r(a,9) w(c,1)?": true,
		"init=0: s0: r(a,9) w(b,1)? | s1: r(b,1) w(c,1)? | s2: r(c,1) | s3: r(a,0) w(c,1)?": false,
	} {
		h := notation.MustParse(text)
		r := &evidence.Result{H: h, Verdict: evidence.Violated, Anomalies: []evidence.Anomaly{{Kind: level.G1a,
			Ops: []uint32{2}, Dead: [][]uint32{{0}}}}}
		r.Anomalies[0].Complete(h, level.Serializable, 0)
		if err := certify.Check(r, certify.Options{}); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestDeadMutated: of random lists for random histories, those are accepted, and only those, that an induction by
// definition bears out.
func TestDeadMutated(t *testing.T) {
	accepted, refused := 0, 0
	histtest.Each(t, 30000, random.ManyUnknown, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 12))
		// By definition: who is dead, round by round, each with its reason.
		dead := map[uint32]bool{}
		var list [][]uint32
		for range h.NumTxns() {
			for u := range uint32(h.NumTxns()) {
				if d := deadBy(h, u, dead); d != nil && !dead[u] && h.Txns.Status[u] == history.Unknown {
					dead[u] = true
					list = append(list, d)
				}
			}
		}
		a := evidence.Anomaly{Kind: level.G1a, Dead: list}
		for u := range uint32(h.NumTxns()) {
			if d := deadBy(h, u, dead); h.Txns.Status[u] == history.Committed && len(d) == 1 {
				a.Ops = d
			}
		}
		want := len(list) > 0 && a.Ops != nil
		if want && rng.IntN(2) == 0 { // without one that is needed it proves nothing
			i := rng.IntN(len(a.Dead))
			u := h.TxnOf(a.Dead[i][0])
			a.Dead = slices.Delete(a.Dead, i, i+1)
			dead = map[uint32]bool{}
			for _, d := range a.Dead {
				o := deadBy(h, h.TxnOf(d[0]), dead)
				want = want && (len(d) == 2 || o != nil && (len(o) == 2 || slices.Contains(readsOnly(h,
					h.TxnOf(d[0]), dead), d[0])))
				dead[h.TxnOf(d[0])] = true
			}
			want = want && len(a.Dead) > 0 && slices.Contains(readsOnly(h, h.TxnOf(a.Ops[0]), dead),
				a.Ops[0]) && !dead[u]
		}
		if a.Ops == nil {
			return
		}
		a.Complete(h, level.Serializable, 0)
		err := certify.Check(&evidence.Result{H: h, Verdict: evidence.Violated, Anomalies: []evidence.Anomaly{a}},
			certify.Options{})
		if len(a.Dead) > 0 && (err == nil) != want {
			t.Fatalf("seed %d: %v, want accepted: %v\n%s\n%s", seed, err, want, a.Text, notation.Format(h))
		}
		if want {
			accepted++
		} else if len(a.Dead) > 0 {
			refused++
		}
	})
	t.Log(accepted, refused)
	if histtest.Whole() && (accepted < 300 || refused < 100) {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// deadBy returns two operations of u that disagree, else a read that none can have explained but the dead, if any did.
func deadBy(h *history.History, u uint32, dead map[uint32]bool) []uint32 {
	lo, hi := h.TxnOps(u)
	last := map[uint32]uint32{} // key → the operation that the next read must agree with
	for op := lo; op < hi; op++ {
		before, ok := last[h.OpKey(op)]
		if ok && h.Ops.Kind[op] == history.Read {
			if h.Ops.Ver[before] != h.Ops.Ver[op] {
				return []uint32{before, op}
			}
			continue
		}
		last[h.OpKey(op)] = op
	}
	if only := readsOnly(h, u, dead); len(only) > 0 {
		return only[:1]
	}
	return nil
}

// readsOnly are the reads of u, before any own write of the key, that nobody outside the given set can have explained.
func readsOnly(h *history.History, u uint32, dead map[uint32]bool) (out []uint32) {
	lo, hi := h.TxnOps(u)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		own := false
		for before := lo; before < op; before++ {
			own = own || h.Ops.Kind[before] == history.Write && h.OpKey(before) == h.OpKey(op)
		}
		if own || h.Ops.Kind[op] != history.Read || h.InitVer[h.OpKey(op)] == v {
			continue
		}
		explained := false
		for w := range uint32(h.NumTxns()) {
			if w == u || dead[w] || h.Txns.Status[w] == history.Aborted {
				continue
			}
			final := history.None
			a, z := h.TxnOps(w)
			for o := a; o < z; o++ {
				if h.Ops.Kind[o] == history.Write && h.OpKey(o) == h.OpKey(op) {
					final = h.Ops.Ver[o]
				}
			}
			explained = explained || final == v
		}
		if !explained {
			out = append(out, op)
		}
	}
	return out
}
