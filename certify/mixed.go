package certify

import (
	"fmt"
	"math"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// mixedOrder checks an order of begins and commits against the level of each transaction.
type mixedOrder struct {
	h  *history.History
	at []level.Level
}

// checkMixed demands that the order keeps the session and real-time orders that each transaction's own level asks for,
// and that its reads obey its level. At a serializable level it reads what is current at its commit. At a snapshot
// level it reads what is current at its begin, and no other transaction commits a key that it writes before its commit.
// At the weak levels the axiom decides. Only at a snapshot level may begin and commit be apart. Cost: linear, and that
// of checkCommitOrder, and the past of each transaction at causal with a read of an older version than the current one.
func checkMixed(r *evidence.Result, o Options) error {
	h := r.H
	begin, commit, err := eventPlaces(h, r.Order)
	if err != nil {
		return err
	}
	x := &mixedOrder{h, make([]level.Level, h.NumTxns())}
	for t := range uint32(h.NumTxns()) {
		x.at[t] = levelOf(h, r.Level, t)
		switch {
		case begin[t] == history.None:
		case x.at[t] == level.Linearizable:
			return &Unsupported{fmt.Sprintf("%s at %s, among others", name(h, t), x.at[t])}
		case !x.at[t].Snapshot() && commit[t] != begin[t]+1:
			return fmt.Errorf("%s, at %s, begins and commits at different places", name(h, t), x.at[t])
		}
	}
	if err = keepsSessions(h, begin, commit, x.asks); err == nil {
		err = x.time(r.Order, o.ClockSkew)
	}
	if err == nil {
		err = replay(h, r.Order, begin, func(t uint32) level.Level { return x.at[t] }, o)
	}
	if err != nil {
		return err
	}
	return x.weak(r)
}

// asks reports whether a transaction's level demands session order.
func (x *mixedOrder) asks(t uint32) bool { return x.at[t].Sessions() }

// time demands that a transaction whose level has real time begins after the commits of all that ended before.
func (x *mixedOrder) time(events []uint32, skew int64) error {
	h := x.h
	if !slices.ContainsFunc(events, func(e uint32) bool { return x.at[e>>1].RealTime() }) {
		return nil
	}
	early, end := history.None, int64(math.MaxInt64) // of those that commit later, the first to end
	for _, e := range slices.Backward(events) {
		t := e >> 1
		if err := hasTimes(h, t); err != nil {
			return err
		}
		if u := endOf(h, t); e&1 == 1 && u != history.NoTime && u < end {
			early, end = t, u
		}
		if e&1 == 0 && x.at[t].RealTime() && early != history.None && history.InTime(end, h.Start(t), skew) {
			return fmt.Errorf("%s begins before %s commits, but began after that transaction ended", name(h, t),
				name(h, early))
		}
	}
	return nil
}

// weak demands the axioms of the transactions at the weak levels.
func (x *mixedOrder) weak(r *evidence.Result) error {
	of := *r
	of.Order = nil
	for _, e := range r.Order {
		if e&1 == 1 {
			of.Order = append(of.Order, e>>1)
		}
	}
	pos, err := places(x.h, of.Order)
	if err != nil {
		return err
	}
	c := newCommitOrder(&of, pos)
	for _, s := range r.Sources {
		if err := c.named(s); err != nil {
			return err
		}
	}
	x.current(c, r.Order)
	if err := c.resolve(); err != nil {
		return err
	}
	if err := c.readCommitted(); err != nil {
		return err
	}
	clear(c.stamp)
	if err := c.axiom(level.ReadAtomic, Options{}); err != nil {
		return err
	}
	clear(c.stamp)
	size := len(c.order) + 1 // no session has a clock, so that each past is walked
	return c.causalBy(&clocks{x: c, before: c.sessionPredecessors(), session: nowhere(size),
		waiting: make([]uint32, size), clock: make([][]uint32, size)}, x.asks, Options{})
}

// current sets the writers that snapshots and serial reads saw, for versions with several writers: what is current at
// the reader's begin decides, not the evidence.
func (x *mixedOrder) current(c *commitOrder, events []uint32) {
	if len(c.writers) == 0 {
		return
	}
	by := nowhere(x.h.NumKeys())
	for _, e := range events {
		t := e >> 1
		for op := range x.h.EachOp(t) {
			switch v := x.h.Ops.Ver[op]; {
			case e&1 == 1 && x.h.Ops.Kind[op] == history.Write:
				by[x.h.VerKey[v]] = t
			case e&1 == 0 && x.h.Ops.Kind[op] == history.Read && !weak(x.at[t]) && c.writer[v] == several:
				c.sources[[2]uint32{op, x.h.VerKey[v]}] = by[x.h.VerKey[v]]
			}
		}
	}
}
