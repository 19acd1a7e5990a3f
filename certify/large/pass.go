package large

import (
	"context"
	"math"

	"isovet/history"
)

// pass reads the history once, and checks of each transaction what does not depend on others' operations on its keys.
type pass struct {
	*verifier
	keys     *keyed
	sessions map[int64]last
	init     bool // the initial transaction was there
}

// last is the last committed transaction of a session so far.
type last struct {
	commit at
	writes bool
}

// pass reads the whole history once, checks its transactions, and hands records of what they read and install to put.
func (v *verifier) pass(ctx context.Context, n int, put func(part int, record []byte) error) error {
	if v.level.RealTime() {
		v.times()
	}
	p := &pass{verifier: v, sessions: map[int64]last{}, keys: &keyed{v: v, n: uint64(n), emit: put}}
	txn := p.txn
	if v.stamps.on {
		txn = p.stampedTxn
	}
	return v.each(ctx, "reading", func(h *history.History, first int64) error {
		v.ops += int64(h.NumOps())
		if h.HasPredicates() || h.HasLists() {
			return refute("the history has predicates or lists, which this certificate does not cover")
		}
		v.initial = h.Own(h.Initial)
		for t := range uint32(h.NumTxns()) {
			if err := txn(h, t, first+int64(t)); err != nil {
				return err
			}
		}
		return nil
	})
}

// initialTxn hands on the operations of the initial transaction.
func (p *pass) initialTxn(h *history.History, t uint32) error {
	if p.init {
		return refute("there are two initial transactions")
	}
	p.init = true
	return p.keys.txn(h, t, at{t: math.MinInt64}, at{t: math.MinInt64}, -1)
}

// inSession checks that a transaction comes after the last one of its session, if the level asks for sessions; name is
// the session's.
func (p *pass) inSession(name, id int64, begin, commit at, writes, committed bool) error {
	if name == history.NoTime || !p.level.Sessions() {
		return nil
	}
	l, ok := p.sessions[name]
	switch {
	case !ok:
	case !p.stamps.on && !l.commit.before(begin):
		return refute("transaction %d comes before an earlier transaction of session %d", id, name)
	case p.stamps.on && (begin.t < l.commit.t || p.level.Serial() && begin.t == l.commit.t && writes && !l.writes):
		return refute("transaction %d starts before an earlier transaction of session %d has ended", id, name)
	}
	if committed {
		p.sessions[name] = last{commit, writes}
	}
	return nil
}

// txn checks a transaction by itself, in its session and in real time, and hands on its operations.
func (p *pass) txn(h *history.History, t uint32, place int64) error {
	id, status := h.Txns.ID[t], h.Txns.Status[t]
	if t == h.Init {
		return p.initialTxn(h, t)
	}
	e := p.find(place)
	if e != nil {
		if e.met = true; e.id != id {
			return refute("found transaction %d; expected the transaction of exception %d", id, e.id)
		}
		if start, end := h.Window(t, 0); start != e.start || end != e.end {
			return refute("exception %d differs from its transaction in its times", id)
		}
		if status == history.Aborted {
			return refute("exception %d names an aborted transaction", id)
		}
	}
	if lo, hi := h.TxnOps(t); p.linear && status != history.Aborted {
		for op := lo + 1; op < hi; op++ {
			if h.OpKey(op) != h.OpKey(op-1) {
				return refute("transaction %d has operations on two keys", id)
			}
		}
	}
	begin := at{t: h.End(t), n: uint64(place)}
	switch {
	case p.byPlace:
		begin.t = place
	case begin.t == history.NoTime:
		begin.t = h.Start(t)
	}
	commit := begin
	number := -1
	switch {
	case e != nil:
		begin, commit = e.begin, e.commit
		number = int(place)
	case status != history.Committed:
		return nil
	case begin.t == history.NoTime:
		return refute("transaction %d has neither times nor an exception", id)
	}
	if p.level.RealTime() {
		if status == history.Committed && (h.Start(t) == history.NoTime || h.End(t) == history.NoTime) {
			return refute("transaction %d has no start and end time, which the level needs", id)
		}
		if len(p.ex) > 0 {
			start, end := h.Window(t, p.skew)
			if err := p.realTime(id, begin, commit, start, end); err != nil {
				return err
			}
		}
	}
	if !p.linear {
		if err := p.inSession(h.SessName[h.Txns.Sess[t]], id, begin, commit, false,
			status == history.Committed); err != nil {
			return err
		}
	}
	return p.keys.txn(h, t, begin, commit, number)
}
