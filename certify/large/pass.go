package large

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"isovet/history"
)

// each gives transactions in batches: first is the place of a batch's first one.
type each func(ctx context.Context, f func(h *history.History, first int64) error) error

// pass reads some transactions that follow one another, all or a part of the history, and checks what can be said of
// them without those before. What these must be asked is in the answer.
type pass struct {
	*verifier
	passed   *passed
	keys     *keyed
	sessions map[int64]last
	at       int64 // the place that is looked at
}

// passed is what a pass says. Whoever joins those of all parts in their order ([verifier.join]) knows what one pass
// over the whole would have said.
type passed struct {
	Ops     int64
	Initial []value // of the history; none if there is no transaction
	Init    int64   // place of the initial transaction; -1: it is not here
	Come    []comes // in the order of places
	Last    []left  // by session
	Met     []int64 // places of the exceptions that were met
	// Refuted, if set, is why the order is none, which was seen at the place At; nothing behind it was looked at.
	Refuted string
	At      int64
	// Bad, if set, is what is wrong with the file behind what was read.
	Bad *history.InputError
}

// comes is a transaction before which none of its session has committed here.
type comes struct {
	Session, Place, ID int64
	Begin              at
	Writes             bool
}

// last is the last transaction of a session that committed.
type last struct {
	Commit at
	Writes bool
}

// left is the last one of a session in a part.
type left struct {
	Session int64
	Last    last
}

// pass passes over transactions, and puts what they read and install.
func (v *verifier) pass(ctx context.Context, txns each, n int, put func(part int, record []byte) error) (*passed,
	error) {
	if v.level.RealTime() {
		v.times()
	}
	p := &pass{verifier: v, passed: &passed{Init: -1}, sessions: map[int64]last{}}
	p.keys = &keyed{v: v, n: uint64(n), emit: put}
	err := txns(ctx, func(h *history.History, first int64) error {
		if v.o.Progress != nil {
			v.o.Progress("reading", first, v.s.Txns)
		}
		p.passed.Ops += int64(h.NumOps())
		p.at = first
		if h.HasPredicates() || h.HasLists() {
			return refute("there are predicates or lists, of which the certificate says nothing")
		}
		p.passed.Initial = append(p.passed.Initial[:0], valueOf(h, h.Initial))
		txn := p.txn
		if v.stamps.on {
			txn = p.stampedTxn
		}
		for t := range uint32(h.NumTxns()) {
			p.at = first + int64(t)
			if err := txn(h, t, p.at); err != nil {
				return err
			}
		}
		return nil
	})
	var no refuted
	bad, isBad := err.(*history.InputError) // by itself: what wraps one says more
	switch {
	case err == nil:
	case errors.As(err, &no):
		p.passed.Refuted, p.passed.At = no.Error(), p.at
	case isBad:
		p.passed.Bad = bad
	default:
		return nil, err
	}
	for _, s := range slices.Sorted(maps.Keys(p.sessions)) {
		p.passed.Last = append(p.passed.Last, left{s, p.sessions[s]})
	}
	return p.passed, nil
}

// join says what one pass over all parts would have said.
func (v *verifier) join(parts []*passed) error {
	sessions := map[int64]last{}
	hasInit := false
	for _, p := range parts {
		twice := p.Init >= 0 && hasInit
		hasInit = hasInit || p.Init >= 0
		v.ops += p.Ops
		for _, i := range p.Initial {
			v.initial = i
		}
		for _, c := range p.Come {
			if twice && p.Init < c.Place {
				break
			}
			if l, ok := sessions[c.Session]; ok {
				if err := v.inSession(c, l); err != nil {
					return err
				}
			}
		}
		switch {
		case twice:
			return errTwoInitial
		case p.Refuted != "":
			return refute("%s", p.Refuted)
		case p.Bad != nil:
			return p.Bad
		}
		for _, l := range p.Last {
			sessions[l.Session] = l.Last
		}
		for _, place := range p.Met {
			if e := v.find(place); e != nil {
				e.met = true
			}
		}
	}
	return nil
}

var errTwoInitial = refute("there are two initial transactions")

// initialTxn notes the initial transaction.
func (p *pass) initialTxn(place int64) error {
	if p.passed.Init >= 0 {
		return errTwoInitial
	}
	p.passed.Init = place
	return nil
}

// session checks that a transaction stands behind the last one of its session, if that is here.
func (p *pass) session(c comes) error {
	l, ok := p.sessions[c.Session]
	if !ok {
		p.passed.Come = append(p.passed.Come, c)
		return nil
	}
	return p.inSession(c, l)
}

// inSession checks that a transaction stands behind another one of its session.
func (v *verifier) inSession(c comes, l last) error {
	if v.stamps.on {
		if c.Begin.t < l.Commit.t || v.level.Serial() && c.Begin.t == l.Commit.t && c.Writes && !l.Writes {
			return refute("transaction %d starts before an earlier one of session %d is over", c.ID, c.Session)
		}
		return nil
	}
	if !l.Commit.before(c.Begin) {
		return refute("transaction %d stands before an earlier one of session %d", c.ID, c.Session)
	}
	return nil
}

// meet notes that the transaction of an exception is there.
func (p *pass) meet(e *exception) { p.passed.Met = append(p.passed.Met, e.place) }

// txn checks a transaction by itself, in its session and in time, and hands its operations on.
func (p *pass) txn(h *history.History, t uint32, place int64) error {
	id, status := h.Txns.ID[t], h.Txns.Status[t]
	if t == h.Init {
		if err := p.initialTxn(place); err != nil {
			return err
		}
		return p.keys.txn(h, t, at{t: math.MinInt64}, at{t: math.MinInt64}, -1)
	}
	e := p.find(place)
	if e != nil {
		if p.meet(e); e.id != id {
			return refute("transaction %d is where exception %d should be", id, e.id)
		}
		if start, end := h.Window(t, 0); start != e.start || end != e.end {
			return refute("exception %d has other times than the transaction", id)
		}
		if status == history.Aborted {
			return refute("exception %d is of an aborted transaction", id)
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
		return refute("transaction %d has no times, and is no exception", id)
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
	if s := h.SessName[h.Txns.Sess[t]]; s != history.NoTime && p.level.Sessions() && !p.linear {
		if err := p.session(comes{s, place, id, begin, false}); err != nil {
			return err
		}
		if status == history.Committed {
			p.sessions[s] = last{commit, false}
		}
	}
	return p.keys.txn(h, t, begin, commit, number)
}
