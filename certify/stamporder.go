package certify

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// stamps is the order that the database's timestamps give. For the keys that anomalies name, it has the installed
// versions in the order of the commits.
type stamps struct {
	h           *history.History
	l           level.Level
	readsAtOnce bool // ReadOnlyAtStart
	// installs has the writes of each key in keys, by commit timestamp, those of the initial transaction first.
	installs map[uint32][]install
	keys     map[uint32]bool
	wanted   map[uint32][]stamped // version → all its writes, by any transaction
	truths   *predicates.Truths
}

type stamped struct {
	txn   uint32
	final bool
}

func installs(h *history.History, t uint32) bool {
	for op := range h.EachOp(t) {
		for range writesOf(h, op) {
			return true
		}
	}
	return false
}

// span returns when t begins and ends by its timestamps. At the serializable levels these are one moment.
func (s *stamps) span(t uint32) (begin, end int64) {
	end = s.h.CommitTS(t)
	switch {
	case !s.l.Serial():
		begin = s.h.StartTS(t)
	case s.readsAtOnce && !installs(s.h, t):
		begin = s.h.StartTS(t)
		end = begin
	default:
		begin = end
	}
	return begin, end
}

// checkStampedOrder proves that an order, already replayed, is the order of the timestamps: of begin and commit events
// at the snapshot levels, of transactions at the serializable levels. At equal timestamps the transaction that installs
// versions comes first (errata C2); two of these at one timestamp are an error (C3).
func checkStampedOrder(r *evidence.Result) error {
	h := r.H
	s := &stamps{h: h, l: r.Level, readsAtOnce: r.ReadOnlyAtStart}
	part := 0
	for t := range uint32(h.NumTxns()) {
		if h.TimestampsCommit(t) {
			part++
		} else if h.Txns.Status[t] == history.Committed && t != h.Init {
			return fmt.Errorf("%s committed, but has no commit timestamp", name(h, t))
		}
	}
	want := part
	if r.Level.Snapshot() {
		want *= 2
	}
	if len(r.Order) != want {
		return fmt.Errorf("the number of entries in the order is %d; the timestamps place %d", len(r.Order), want)
	}
	if err := s.ascends(r.Order); err != nil {
		return err
	}
	return s.keepsSessions()
}

// A moment is the time of an entry of an order, and whether the entry installs versions or reads.
type moment struct {
	at              int64
	installs, looks bool
}

// moment returns the moment of an entry of an order. Its transaction must have committed by its timestamps.
func (s *stamps) moment(e uint32) (t uint32, m moment, err error) {
	h, t := s.h, e
	if s.l.Snapshot() {
		t = e >> 1
	}
	if !h.TimestampsCommit(t) {
		return t, m, fmt.Errorf("the order has %s, which did not commit by its timestamps", name(h, t))
	}
	begin, end := s.span(t)
	if begin == history.NoTime || begin > end {
		return t, m, fmt.Errorf("%s has no start timestamp, or one after its commit", name(h, t))
	}
	w := installs(h, t)
	switch {
	case s.l.Snapshot() && e&1 == 0:
		return t, moment{begin, false, true}, nil
	case !s.l.Snapshot():
		return t, moment{begin, w, !w}, nil
	case w && begin == end:
		return t, m, fmt.Errorf("%s writes, but commits at its start", name(h, t))
	}
	return t, moment{end, w, false}, nil
}

// ascends demands that the moments of an order ascend. At one moment the entry that installs versions comes first, and
// there is only one of these.
func (s *stamps) ascends(order []uint32) error {
	last := moment{} // what the entries so far at this time do
	for i, e := range order {
		t, m, err := s.moment(e)
		if err != nil {
			return err
		}
		if i == 0 || m.at != last.at {
			last.installs, last.looks = false, false
		}
		if m.installs && last.installs {
			return fmt.Errorf("%s and another writer both commit at %d", name(s.h, t), m.at)
		}
		if i > 0 && m.at < last.at || m.installs && last.looks {
			return fmt.Errorf("the order's entry %d, of %s, is at %d, but the entry before it is at %d", i,
				name(s.h, t), m.at, last.at)
		}
		last = moment{m.at, last.installs || m.installs, last.looks || m.looks}
	}
	return nil
}

// keepsSessions demands that each transaction of a session starts after the end of the one before. Transactions of
// unknown outcome are included, because a commit timestamp says that they committed.
func (s *stamps) keepsSessions() error {
	h := s.h
	if !s.l.Sessions() {
		return nil
	}
	for i := range h.NumSessions() {
		last := history.None
		for _, t := range h.SessTxn[h.SessOff[i]:h.SessOff[i+1]] {
			if !h.TimestampsCommit(t) {
				continue
			}
			if last != history.None && !s.follows(t, last) {
				return fmt.Errorf("%s starts before its predecessor in the session, %s, ends", name(h, t),
					name(h, last))
			}
			last = t
		}
	}
	return nil
}

// follows reports whether t starts after the end of u. At one moment of a serial order a writer comes first.
func (s *stamps) follows(t, u uint32) bool {
	begin, _ := s.span(t)
	_, end := s.span(u)
	return begin > end || begin == end && !(s.l.Serial() && installs(s.h, t) && !installs(s.h, u))
}
