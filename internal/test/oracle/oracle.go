package oracle

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// DefaultMaxTxns is the default bound of a history's transactions.
const DefaultMaxTxns = 8

// maxTxns is what the bit sets hold.
const maxTxns = 32

// Options are the parameters of Check.
type Options struct {
	Level level.Level
	// ClockSkew widens every client interval by so many nanoseconds at both ends.
	ClockSkew int64
	// MaxTxns bounds the transactions that take part, Init not counted; 0 is DefaultMaxTxns, and 32 is the most. The
	// time is exponential in their number.
	MaxTxns int
	// VerdictOnly leaves out the anomalies of a violation, and with them the second implementation.
	VerdictOnly bool
}

// txn is a transaction that takes part.
type txn struct {
	id     uint32
	sure   bool   // committed; otherwise of unknown outcome
	before uint32 // those that must come before it, as a bit set
}

// world is a history as the definitions see it.
type world struct {
	h    *history.History
	o    Options
	txns []txn
	sure uint32 // the committed ones, as a bit set
	preds
}

// Check decides whether h satisfies o.Level, one of the serializable, snapshot or weak levels. The verdict is Unknown,
// with the reason, for a history that is too large, or lacks the times that a strict level needs, and, unless
// o.VerdictOnly, for a violation of which no evidence can be given: of those with predicate operations none is. An
// error is a fault of this package: its two implementations disagree. Cost: exponential in the transactions.
func Check(h *history.History, o Options) (*evidence.Result, error) {
	r := &evidence.Result{Level: o.Level, Checker: "oracle", H: h}
	r.Stats.Txns, r.Stats.Ops, r.Stats.Sessions, r.Stats.Keys = h.NumTxns(), h.NumOps(), h.NumSessions(), h.NumKeys()
	w, reason := newWorld(h, o)
	if reason != "" {
		r.Reason = reason
		return r, nil
	}
	var ok bool
	if weak(o.Level) {
		if h.HasPredicates() && o.Level != level.ReadCommitted {
			r.Order, ok = w.weakPredicates()
		} else {
			r.Order, ok = w.weak()
		}
		switch {
		case ok:
			r.Verdict = evidence.Holds
		case o.VerdictOnly:
			r.Verdict = evidence.Violated
		default:
			r.Reason = "no commit order satisfies the level's axiom, but the oracle gives no evidence at the weaker " +
				"levels"
		}
		return r, nil
	}
	if o.Level.Serial() {
		r.Order, ok = w.serial()
	} else {
		r.Order, ok = w.snapshot()
	}
	r.Verdict = evidence.Violated
	if ok {
		r.Verdict = evidence.Holds
	}
	if o.VerdictOnly {
		return r, nil
	}
	if h.HasPredicates() {
		if !h.HasLists() && w.acyclic() != ok {
			return nil, fmt.Errorf("the oracle's two implementations disagree at level %s: replay says %s, the "+
				"serialization graphs the opposite", o.Level, r.Verdict)
		}
		if !ok {
			r.Verdict = evidence.Unknown
			r.Reason = "no order explains the history, but the oracle gives no evidence where there are predicate " +
				"reads and writes"
		}
		return r, nil
	}
	found, decided := w.explain()
	if !decided {
		if !ok {
			r.Verdict = evidence.Unknown
			r.Reason = "no order explains the history, but evidence of that cannot be given: a list element was " +
				"appended twice, or the proof rests on whether several transactions of unknown outcome committed"
		}
		return r, nil
	}
	if ok != (len(found) == 0) {
		return nil, fmt.Errorf("the oracle's two implementations disagree at level %s: replay says %s, the "+
			"serialization graphs show %d anomalies", o.Level, r.Verdict, len(found))
	}
	r.Anomalies = found
	return r, nil
}

func newWorld(h *history.History, o Options) (*world, string) {
	switch {
	case !o.Level.Serial() && !o.Level.Snapshot() && !weak(o.Level):
		return nil, fmt.Sprintf("the oracle decides the serializable and snapshot levels, read-committed, "+
			"read-atomic and causal, not %s", o.Level)
	case weak(o.Level) && o.Level != level.ReadCommitted && h.HasPredicates() && h.HasLists():
		return nil, fmt.Sprintf("the oracle decides %s for lists or predicate operations, not for both", o.Level)
	}
	limit := o.MaxTxns
	if limit == 0 {
		limit = DefaultMaxTxns
	}
	limit = min(limit, maxTxns)
	w := &world{h: h, o: o}
	if err := w.preds.parse(h); err != nil {
		return nil, err.Error()
	}
	for t := range uint32(h.NumTxns()) {
		if t == h.Init || h.Txns.Status[t] == history.Aborted {
			continue
		}
		sure := h.Txns.Status[t] == history.Committed
		if o.Level.RealTime() && sure && (h.Start(t) == history.NoTime || h.End(t) == history.NoTime) {
			return nil, fmt.Sprintf("%s needs start and end times; transaction %d lacks one", o.Level, h.Txns.ID[t])
		}
		if len(w.txns) == limit {
			return nil, fmt.Sprintf("more than %d transactions: too many for the oracle", limit)
		}
		if sure {
			w.sure |= 1 << len(w.txns)
		}
		w.txns = append(w.txns, txn{id: t, sure: sure})
	}
	for i := range w.txns {
		for j := range w.txns {
			if w.sessionBefore(j, i) || w.timeBefore(j, i) {
				w.txns[i].before |= 1 << j
			}
		}
	}
	return w, ""
}

// sessionBefore reports whether the level's session order has i before j.
func (w *world) sessionBefore(i, j int) bool {
	if !w.o.Level.Sessions() || i == j || !w.txns[i].sure {
		return false
	}
	h, a, b := w.h, w.txns[i].id, w.txns[j].id
	s := h.Txns.Sess[a]
	if h.Txns.Sess[b] != s {
		return false
	}
	for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
		if t == a {
			return true
		}
		if t == b {
			return false
		}
	}
	return false
}

// timeBefore reports whether the level's real time has i before j.
func (w *world) timeBefore(i, j int) bool {
	if !w.o.Level.RealTime() || i == j || !w.txns[i].sure {
		return false
	}
	end, start := w.h.End(w.txns[i].id), w.h.Start(w.txns[j].id)
	if end == history.NoTime || start == history.NoTime || end >= start {
		return false
	}
	return uint64(start)-uint64(end) > 2*uint64(max(w.o.ClockSkew, 0))
}

// state is what the database holds: for each key the version of a register, and the elements of a list.
type state struct {
	reg  []uint32
	list [][]uint32
}

// initial is the state before the first transaction: the header's initial value everywhere, empty lists, and then what
// the initial transaction wrote.
func (w *world) initial() state {
	h := w.h
	s := state{reg: make([]uint32, h.NumKeys()), list: make([][]uint32, h.NumKeys())}
	for k := range s.reg {
		s.reg[k] = history.None
	}
	for v := range uint32(h.NumVersions()) {
		if h.VerValue(v) == h.Initial {
			s.reg[h.VerKey[v]] = v
		}
	}
	if h.Init != history.None {
		if !s.replay(w, h.Init) {
			panic("oracle: an initial transaction with reads")
		}
	}
	return s
}

func (s state) clone() state {
	c := state{reg: append([]uint32(nil), s.reg...), list: make([][]uint32, len(s.list))}
	for k, l := range s.list {
		c.list[k] = append([]uint32(nil), l...)
	}
	return c
}

// replay executes transaction t on s and reports whether every read returned what the history says.
func (s state) replay(w *world, t uint32) bool {
	h := w.h
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		key, v := h.OpKey(op), h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			if s.reg[key] != v {
				return false
			}
		case history.Write:
			s.reg[key] = v
		case history.PredRead, history.PredWrite:
			if !w.sees(s, op) {
				return false
			}
			s.update(h, op)
		case history.Append:
			s.list[key] = append(s.list[key], v)
		case history.ReadList:
			elems := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
			if len(elems) != len(s.list[key]) {
				return false
			}
			for i, e := range elems {
				if s.list[key][i] != e {
					return false
				}
			}
		}
	}
	return true
}

// key makes a map key of a state and a few sets.
func (s state) key(sets ...uint32) string {
	var b []byte
	put := func(x uint32) { b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24)) }
	for _, x := range sets {
		put(x)
	}
	for _, x := range s.reg {
		put(x)
	}
	for _, l := range s.list {
		put(uint32(len(l)))
		for _, x := range l {
			put(x)
		}
	}
	return string(b)
}
