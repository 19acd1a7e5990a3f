package certify

import (
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// checkOrder proves that an order explains every read and respects what the level demands.
func checkOrder(r *evidence.Result, o Options) error {
	h, l := r.H, r.Level
	if h.HasPredicates() && l == level.RepeatableRead {
		return &Unsupported{fmt.Sprintf("an order for a history with predicates at level %s", l)}
	}
	switch {
	case l.IsMixed():
		return checkMixed(r, o)
	case l == level.Linearizable:
		return checkLinear(h, r.Order, o)
	case l.Serial() || l == level.RepeatableRead || l.Snapshot():
		events, begin, commit, err := replayed(h, r.Order, l, o)
		if err == nil && l.Sessions() {
			err = keepsSessions(h, begin, commit, asksAlways)
		}
		if err == nil && l.RealTime() {
			err = keepsTime(h, events, o.ClockSkew)
		}
		return err
	case weak(l):
		return checkCommitOrder(r, o)
	}
	return &Unsupported{fmt.Sprintf("an order at level %d", l)}
}

// replayed replays an order of events at a snapshot level, or else a serial order, as events: each transaction commits
// right after its begin. It returns the events, and the places of each transaction's begin and commit.
func replayed(h *history.History, order []uint32, l level.Level, o Options) (events, begin, commit []uint32,
	err error) {
	events = order
	if l.Snapshot() {
		begin, commit, err = eventPlaces(h, events)
	} else if begin, err = places(h, order); err == nil {
		commit, events = nowhere(len(begin)), make([]uint32, 0, 2*len(order))
		for i, t := range order {
			events = append(events, t<<1, t<<1|1)
			begin[t], commit[t] = uint32(2*i), uint32(2*i+1)
		}
	}
	if err == nil {
		err = replay(h, events, begin, func(uint32) level.Level { return l }, o)
	}
	return events, begin, commit, err
}

func nowhere(n int) []uint32 { return slices.Repeat([]uint32{history.None}, n) }

// places checks that the order has each committed transaction except the initial one exactly once, and no aborted one.
func places(h *history.History, order []uint32) ([]uint32, error) {
	pos := nowhere(h.NumTxns())
	for i, t := range order {
		if err := mayTakePart(h, i, t); err != nil {
			return nil, err
		}
		if pos[t] != history.None {
			return nil, fmt.Errorf("the order has %s twice", name(h, t))
		}
		pos[t] = uint32(i)
	}
	return pos, lacksNone(h, pos)
}

// eventPlaces checks that the order of events has the begin and then the commit of each committed transaction except
// the initial one, each once, and no aborted one.
func eventPlaces(h *history.History, events []uint32) (begin, commit []uint32, err error) {
	begin, commit = nowhere(h.NumTxns()), nowhere(h.NumTxns())
	for i, e := range events {
		t := e >> 1
		if err := mayTakePart(h, i, t); err != nil {
			return nil, nil, err
		}
		switch {
		case e&1 == 0 && begin[t] != history.None:
			return nil, nil, fmt.Errorf("%s begins twice", name(h, t))
		case e&1 == 0:
			begin[t] = uint32(i)
		case begin[t] == history.None:
			return nil, nil, fmt.Errorf("%s commits before it begins", name(h, t))
		case commit[t] != history.None:
			return nil, nil, fmt.Errorf("%s commits twice", name(h, t))
		default:
			commit[t] = uint32(i)
		}
	}
	for t := range begin {
		if begin[t] != history.None && commit[t] == history.None {
			return nil, nil, fmt.Errorf("%s begins but does not commit", name(h, uint32(t)))
		}
	}
	return begin, commit, lacksNone(h, begin)
}

func lacksNone(h *history.History, pos []uint32) error {
	for t, p := range pos {
		if p == history.None && h.Txns.Status[t] == history.Committed && uint32(t) != h.Init {
			return fmt.Errorf("the order lacks the committed transaction %s", name(h, uint32(t)))
		}
	}
	return nil
}

func mayTakePart(h *history.History, i int, t uint32) error {
	switch {
	case int(t) >= h.NumTxns():
		return fmt.Errorf("the order's entry %d names transaction index %d, but the number of transactions is %d", i,
			t, h.NumTxns())
	case t == h.Init:
		return fmt.Errorf("the order has the initial transaction %s, which precedes every order", name(h, t))
	case h.Txns.Status[t] == history.Aborted:
		return fmt.Errorf("the order has %s, which aborted", name(h, t))
	}
	return nil
}

func asksAlways(uint32) bool { return true }

// keepsSessions demands that each transaction that asks for session order begins after the commits of the earlier
// committed ones of its session.
func keepsSessions(h *history.History, begin, commit []uint32, asks func(t uint32) bool) error {
	for s := range h.NumSessions() {
		last := history.None
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if begin[t] == history.None {
				continue
			}
			if last != history.None && begin[t] < commit[last] && asks(t) {
				return fmt.Errorf("%s begins before its predecessor in the session, %s, commits", name(h, t),
					name(h, last))
			}
			if h.Txns.Status[t] == history.Committed && (last == history.None || commit[last] < commit[t]) {
				last = t
			}
		}
	}
	return nil
}

// keepsTime demands that no transaction commits after the begin of one that really began after its end; the latest
// start decides.
func keepsTime(h *history.History, events []uint32, skew int64) error {
	late, start := history.None, int64(history.NoTime)
	for _, e := range events {
		t := e >> 1
		if e&1 == 0 {
			if err := hasTimes(h, t); err != nil {
				return err
			}
			if s := h.Start(t); s > start {
				late, start = t, s
			}
		} else if history.InTime(endOf(h, t), start, skew) {
			return fmt.Errorf("%s commits after %s begins, but ended before that transaction began", name(h, t),
				name(h, late))
		}
	}
	return nil
}
