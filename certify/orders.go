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
	case l.Serial() || l == level.RepeatableRead:
		pos, err := serial(h, r.Order, o)
		if err == nil && l.Sessions() {
			err = serialSessions(h, pos)
		}
		if err == nil && l.RealTime() {
			err = serialTime(h, r.Order, o.ClockSkew)
		}
		return err
	case l.Snapshot():
		begin, commit, err := snapshot(h, r.Order, l, o)
		if err == nil && l.Sessions() {
			err = snapshotSessions(h, begin, commit)
		}
		if err == nil && l.RealTime() {
			err = snapshotTime(h, r.Order, o.ClockSkew)
		}
		return err
	case weak(l):
		return checkCommitOrder(r, o)
	}
	return &Unsupported{fmt.Sprintf("an order at level %d", l)}
}

// serial replays a serial order. It returns each transaction's place, or history.None if it is not in the order.
func serial(h *history.History, order []uint32, o Options) (pos []uint32, err error) {
	if pos, err = places(h, order); err != nil {
		return nil, err
	}
	return pos, replaySerial(h, order, o)
}

// snapshot replays an order of events. It returns the places of each transaction's begin and commit.
func snapshot(h *history.History, events []uint32, l level.Level, o Options) (begin, commit []uint32, err error) {
	if begin, commit, err = eventPlaces(h, events); err != nil {
		return nil, nil, err
	}
	return begin, commit, replaySnapshot(h, events, begin, func(uint32) level.Level { return l }, o)
}

// nowhere returns n places, all history.None.
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

// serialSessions demands that each transaction comes after the committed ones before it in its session.
func serialSessions(h *history.History, pos []uint32) error {
	t, last := outOfSession(h, pos, pos, asksAlways)
	if t == history.None {
		return nil
	}
	return fmt.Errorf("%s comes before its predecessor in the session, %s", name(h, t), name(h, last))
}

// snapshotSessions demands that each transaction begins after the committed ones before it in its session committed.
func snapshotSessions(h *history.History, begin, commit []uint32) error {
	t, last := outOfSession(h, begin, commit, asksAlways)
	if t == history.None {
		return nil
	}
	return fmt.Errorf("%s begins before its predecessor in the session, %s, commits", name(h, t), name(h, last))
}

func asksAlways(uint32) bool { return true }

// outOfSession finds a transaction that asks for session order and begins before the commit of an earlier committed one
// of its session, and of these the one that commits last.
func outOfSession(h *history.History, begin, commit []uint32, asks func(t uint32) bool) (t, last uint32) {
	for s := range h.NumSessions() {
		last := history.None
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if begin[t] == history.None {
				continue
			}
			if last != history.None && begin[t] < commit[last] && asks(t) {
				return t, last
			}
			if h.Txns.Status[t] == history.Committed && (last == history.None || commit[last] < commit[t]) {
				last = t
			}
		}
	}
	return history.None, history.None
}

// serialTime demands that no transaction comes after one that began after its end; the latest start decides.
func serialTime(h *history.History, order []uint32, skew int64) error {
	late := history.None // the one with the latest start so far
	start := int64(history.NoTime)
	for _, t := range order {
		if err := hasTimes(h, t); err != nil {
			return err
		}
		if history.InTime(endOf(h, t), start, skew) {
			return fmt.Errorf("%s comes after %s, but ended before that transaction began", name(h, t), name(h, late))
		}
		if s := h.Start(t); s > start {
			late, start = t, s
		}
	}
	return nil
}

// snapshotTime demands that no transaction commits after the begin of one that really began after its end.
func snapshotTime(h *history.History, events []uint32, skew int64) error {
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
