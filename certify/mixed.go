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
	h             *history.History
	at            []level.Level
	begin, commit []uint32
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
	x := &mixedOrder{h, make([]level.Level, h.NumTxns()), begin, commit}
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
	if err = x.sessions(); err == nil {
		err = x.time(r.Order, o.ClockSkew)
	}
	if err == nil {
		err = replaySnapshot(x.h, r.Order, x.begin, func(t uint32) level.Level { return x.at[t] }, o)
	}
	if err != nil {
		return err
	}
	return x.weak(r)
}

// sessions demands that a transaction whose level asks for session order begins after the commits of the earlier ones.
func (x *mixedOrder) sessions() error {
	t, last := outOfSession(x.h, x.begin, x.commit, func(t uint32) bool { return x.at[t].Sessions() })
	if t == history.None {
		return nil
	}
	return fmt.Errorf("%s comes before %s, which its session ran earlier", name(x.h, t), name(x.h, last))
}

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
	p := &pasts{commitOrder: c, at: x.at, seen: make([]uint32, len(c.order)+1),
		walked: make([]uint32, len(c.order)+1)}
	return p.causal()
}

// pasts walks the past of transactions: what precedes them by reads, and by session order where levels ask for it.
type pasts struct {
	*commitOrder
	at   []level.Level
	prev []uint32 // place → the committed one before it in its session, or 0
	// seen: place → the reader whose past has it. walked: the same, with all places before it in the session.
	seen, walked []uint32
	stack        []uint32
}

// causal demands that the past of a transaction at causal has no later writer of a key than the one that it read from.
func (x *pasts) causal() error {
	h := x.h
	x.prev = x.sessionPredecessors()
	next := make([]uint32, len(x.keys)) // write → the place that overwrote it, 0: none so far
	first, last := make([]uint32, h.NumKeys()), make([]uint32, h.NumKeys())
	var stale []weakRead
	for p := uint32(1); int(p) <= len(x.order); p++ {
		stale = stale[:0]
		oldest := p
		for _, r := range x.readsOf(p) {
			over := first[r.key]
			if r.from > 0 {
				i, _ := slices.BinarySearch(x.wrote(r.from), r.key)
				over = next[x.wOff[r.from]+uint32(i)]
			}
			if over > 0 {
				stale, oldest = append(stale, r), min(oldest, over)
				x.stamp[r.key], x.low[r.key] = p, r.from
			}
		}
		if len(stale) > 0 && x.judged(p, level.Causal) {
			if err := x.walk(p, oldest, stale); err != nil {
				return err
			}
		}
		for i := x.wOff[p]; i < x.wOff[p+1]; i++ {
			k := x.keys[i]
			if last[k] == 0 {
				first[k] = p
			} else {
				next[last[k]-1] = p
			}
			last[k] = i + 1
		}
	}
	return nil
}

// walk walks the past of the transaction at place p, back to place oldest.
func (x *pasts) walk(p, oldest uint32, stale []weakRead) error {
	push := func(q uint32) {
		if q >= oldest && q > 0 && x.seen[q] != p {
			x.seen[q] = p
			x.stack = append(x.stack, q)
		}
	}
	x.stack = append(x.stack[:0], p)
	for len(x.stack) > 0 {
		u := x.stack[len(x.stack)-1]
		x.stack = x.stack[:len(x.stack)-1]
		if u != p {
			if err := x.visible(p, u, stale); err != nil {
				return err
			}
		}
		for _, r := range x.readsOf(u) {
			push(r.from)
		}
		asks := func(q uint32) bool { return x.at[x.order[q-1]].Sessions() }
		if !asks(u) {
			continue
		}
		for q := x.prev[u]; q > 0 && x.walked[q] != p; q = x.prev[q] {
			x.walked[q] = p
			push(q)
			if q < oldest && asks(q) {
				break // those before it are earlier
			}
		}
	}
	return nil
}
