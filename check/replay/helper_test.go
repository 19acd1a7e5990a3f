package replay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/certify"
	"isovet/check"
	"isovet/check/explain"
	"isovet/check/prepass"
	"isovet/check/replay"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/solver"
)

var levels = []level.Level{
	level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation,
}

// mix draws options for random histories: every combination of what a history may have comes up.
func mix(seed uint64) random.Options {
	return random.Options{
		Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0,
		NoTimes: seed&16 != 0,
	}
}

// decide runs package replay alone and certifies what it says: an order as it is, a refutation, where outcomes are
// known, by the explanation that its seed leads to.
func decide(t testing.TB, h *history.History, o replay.Options) evidence.Verdict {
	t.Helper()
	r := &evidence.Result{Level: o.Level, Checker: "replay", H: h}
	v := prepass.Run(h)
	if len(v.Anomalies) > 0 {
		return evidence.Violated
	}
	a := must.Get(replay.Run(t.Context(), v, o))(t)
	switch a.Status {
	case solver.Sat:
		r.Verdict, r.Order = evidence.Holds, a.Order
	case solver.Unsat:
		for i := range h.NumTxns() {
			if h.Txns.Status[i] == history.Unknown {
				return evidence.Violated
			}
		}
		x := must.Get(explain.Violation(t.Context(), v, o.Level, o.Skew, a.Seed, replay.Refute, nil))(t)
		x.Complete(h, o.Level, o.Skew)
		r.Verdict, r.Anomalies = evidence.Violated, []evidence.Anomaly{x}
	default:
		t.Fatalf("%s: no answer, and nobody stopped it\n%s", o.Level, notation.Format(h))
	}
	if err := certify.Check(r, certify.Options{ClockSkew: o.Skew}); err != nil {
		t.Fatalf("%s: %v\n%s", o.Level, err, notation.Format(h))
	}
	return r.Verdict
}

// checked is the certified verdict of the checker that package check makes of replay.
func checked(t testing.TB, h *history.History, l level.Level) *evidence.Result {
	t.Helper()
	c := must.Get(check.ByName("replay"))(t)
	r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
	return r
}

// changes say how a history is told otherwise. The zero value tells it as it is.
type changes struct {
	keys     bool // keys get other names, numbered otherwise
	values   bool // every value but null is another, equal ones stay equal
	sessions bool // sessions get other names
	lines    bool // transactions stand in another order, each session's own kept
	noTimes  bool // times are left out
}

// retell tells the same history otherwise.
func retell(h *history.History, c changes, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 77))
	b := history.NewBuilder()
	names, sess := r.Perm(h.NumKeys()), r.Perm(h.NumSessions())
	key := func(k uint32) uint32 {
		switch v := h.Keys[k]; {
		case c.keys:
			return b.Key(b.StringValue(fmt.Appendf(nil, "key %d", names[k])))
		case v.Kind == history.String:
			return b.Key(b.StringValue(h.Texts.Text(uint32(v.N))))
		default:
			return b.Key(v)
		}
	}
	value := func(v history.Value) history.Value {
		if c.values && v.Kind == history.Int {
			v.N = 1<<40 - 7*v.N
		}
		return v
	}
	b.Initial = value(h.Initial)
	if c.keys { // numbers follow the order of appearance
		for _, k := range r.Perm(h.NumKeys()) {
			key(uint32(k))
		}
	}
	put := func(t uint32, head history.TxnHead) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			if k := key(h.VerKey[v]); h.Ops.Kind[op] == history.Read {
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
		put(h.Init, head)
	}
	var order []int
	for s := range h.NumSessions() {
		for range h.SessOff[s+1] - h.SessOff[s] {
			order = append(order, s)
		}
	}
	if c.lines {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	next := append([]uint32(nil), h.SessOff...)
	for _, s := range order {
		t := h.SessTxn[next[s]]
		next[s]++
		if t == h.Init {
			continue
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(s), true
		if c.sessions {
			head.Session = int64(sess[s])
		}
		head.Status = h.Txns.Status[t]
		if !c.noTimes {
			head.Start, head.End, head.StartTS, head.CommitTS = h.Start(t), h.End(t), h.StartTS(t), h.CommitTS(t)
		}
		put(t, head)
	}
	out, err := b.Build()
	if err != nil {
		panic(err)
	}
	return out
}
