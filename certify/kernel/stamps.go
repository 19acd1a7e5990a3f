package kernel

import (
	"bufio"
	"io"
)

// Stamps returns the database's timestamps of a transaction's start and commit; false without stamps. At the
// serializable levels only commits count.
type Stamps func(t uint32) (start, commit uint64, ok bool)

// Wrong is a fault in the order of the stamps (Stamps.v).
type Wrong struct {
	Kind    WrongKind
	T, U, K uint32
}

// WrongKind is the kind of a Wrong.
type WrongKind uint8

const (
	Early       WrongKind = iota // T commits before it starts
	Overlaps                     // T must precede U, which starts before T has committed
	Conflicts                    // both write K, and neither had committed when the other started
	Unexplained                  // T's operations saw another state than the one at its start
)

// moment is the time of an event. At equal stamps the commits of writers come first.
type moment struct {
	at    uint64
	looks bool
}

func (m moment) before(n moment) bool { return m.at < n.at || m.at == n.at && !m.looks && n.looks }

// stamped is a history with the stamps of its transactions.
type stamped struct {
	l Level
	h Txns
	s Stamps
}

// WritesAny reports whether a transaction writes anything (Stamps.v, writes_any).
func WritesAny(t *Txn) bool {
	for i := range t.Ops {
		if t.Ops[i].Kind >= Write {
			return true
		}
	}
	return false
}

func (x *stamped) commit(t *Txn) moment {
	_, c, _ := x.s(t.ID)
	return moment{c, !WritesAny(t)}
}

func (x *stamped) begin(t *Txn) moment {
	if x.l.Serial {
		return x.commit(t)
	}
	b, _, _ := x.s(t.ID)
	return moment{b, true}
}

// all reports whether all transactions committed and have stamps (Stamps.v, stamped).
func (x *stamped) all() (bad uint32, ok bool) {
	ok = true
	x.h.Heads(func(t *Txn) bool {
		if _, _, has := x.s(t.ID); !has || !t.Committed {
			bad, ok = t.ID, false
		}
		return ok
	})
	return bad, ok
}

// CheckStampedSerial proves that a level holds in the order of the commits' stamps (Stamps.v, check_stamps). Cost: as
// CheckSerial.
func CheckStampedSerial(l Level, h Txns, s Stamps, order []uint32) Answer {
	x := &stamped{l, h, s}
	if a := x.ascends(len(order), func(n int) Event { return Event{true, order[n]} }); a.Outcome != Proved {
		return a
	}
	return CheckSerial(l, h, order)
}

// CheckStampedSnapshot proves that a level holds in the order of the stamps (Stamps.v, check_stamps). Cost: as
// CheckSnapshot.
func CheckStampedSnapshot(l Level, h Txns, s Stamps, order []Event) Answer {
	x := &stamped{l, h, s}
	if a := x.ascends(len(order), func(n int) Event { return order[n] }); a.Outcome != Proved {
		return a
	}
	return CheckSnapshot(l, h, order)
}

// ascends checks that all events have stamps, and that none comes after an event with a later stamp (Stamps.v,
// descends).
func (x *stamped) ascends(n int, event func(n int) Event) Answer {
	if bad, ok := x.all(); !ok {
		return Answer{IllFormed, bad}
	}
	last := moment{}
	for i := range n {
		e := event(i)
		t := x.h.Txn(e.Txn)
		if t == nil {
			return Answer{FailsAt, uint32(i)}
		}
		m := x.begin(t)
		if e.Commit {
			m = x.commit(t)
		}
		if m.before(last) {
			return Answer{FailsAt, uint32(i)}
		}
		last = m
	}
	return Answer{Proved, 0}
}

// CheckStampsViolation proves that a level does not hold in the order of the stamps (Stamps.v, check_stamps_violation).
// The order lists all writers by their commits; only Unexplained needs it. Cost: a pass over the history.
func CheckStampsViolation(l Level, h Txns, s Stamps, order []uint32, w Wrong) Answer {
	r := newReplay(l, h)
	if r.ill {
		return Answer{IllFormed, r.bad}
	}
	x := &stamped{l, h, s}
	if bad, ok := x.all(); !ok {
		return Answer{IllFormed, bad}
	}
	if !x.wrong(r, order, w) {
		return Answer{FailsAt, 1}
	}
	return Answer{Proved, 0}
}

// wrong is the function is_wrong of Stamps.v. A transaction is valid only until the next call of Txn, so wrong is done
// with one before it asks for the next.
func (x *stamped) wrong(r *replay, order []uint32, w Wrong) bool {
	t := x.h.Txn(w.T)
	if t == nil {
		return false
	}
	begin, commit, writes := x.begin(t), x.commit(t), Writes(w.K, t.Ops)
	switch w.Kind {
	case Early:
		return commit.before(begin)
	case Overlaps, Conflicts:
		session, committed, noEnd, ended := t.Session, t.Committed, t.NoEnd, t.Ended
		u := x.h.Txn(w.U)
		if u == nil || w.T == w.U || !x.begin(u).before(commit) {
			return false
		}
		if w.Kind == Conflicts {
			return writes && Writes(w.K, u.Ops) && begin.before(x.commit(u))
		}
		return committed && (x.l.RealTime && !noEnd && ended < u.Began ||
			x.l.Sessions && session == u.Session && x.stands(w.T, w.U))
	case Unexplained:
		if !x.leftBefore(r, w.T, begin, order) {
			return false
		}
		ops := x.h.Txn(w.T).Ops
		return r.knows(ops) && !r.exec(ops, false)
	}
	return false
}

// stands reports whether t comes before u in the history.
func (x *stamped) stands(t, u uint32) bool {
	first := uint32(0)
	x.h.Heads(func(v *Txn) bool {
		if v.ID == t || v.ID == u {
			first = v.ID
		}
		return first == 0
	})
	return first == t
}

// leftBefore replays the writers that committed before t begins, at the moment start (Stamps.v, left_before and
// all_writers). It fails unless the order lists every writer once, by commits.
func (x *stamped) leftBefore(r *replay, t uint32, start moment, order []uint32) bool {
	size, _, _ := x.h.Size()
	in := make([]bool, size+1)
	last := moment{}
	for n, i := range order {
		u := x.h.Txn(i)
		if u == nil {
			return false
		}
		c := x.commit(u)
		if n > 0 && !last.before(c) || c == start && i != t {
			return false
		}
		if c.before(start) && !r.install(u.Ops) {
			return false
		}
		in[i], last = true, c
	}
	all := true
	x.h.Heads(func(u *Txn) bool {
		all = in[u.ID] || !WritesAny(x.h.Txn(u.ID))
		return all
	})
	return all
}

// knows reports whether the tables cover the keys of operations.
func (r *replay) knows(ops []Op) bool {
	for i := range ops {
		if ops[i].Kind != Search && int(ops[i].Key) >= len(r.one) {
			return false
		}
	}
	return true
}

// install installs the writes of operations (Replay.v, apply_ops).
func (r *replay) install(ops []Op) bool {
	if !r.knows(ops) {
		return false
	}
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case Write:
			r.put(o.Key, o.Cell)
		case Append:
			r.push(o.Key, o.Elem)
		}
	}
	return true
}

// WriteStamped writes a file for isovet-kernel about a level by timestamps: an order, and for a violation the fault.
// Ranks replace the timestamps. See WriteFile.
func WriteStamped(w io.Writer, level string, h Txns, s Stamps, order []uint32, wrong *Wrong) error {
	if err := WriteFile(w, level, h, order, nil, nil); err != nil {
		return err
	}
	var all []uint64
	h.Heads(func(t *Txn) bool {
		start, commit, _ := s(t.ID)
		all = append(all, start, commit)
		return true
	})
	rank := ranked(all)
	out := bufio.NewWriterSize(w, 1<<14)
	var b line
	h.Heads(func(t *Txn) bool {
		if start, commit, ok := s(t.ID); ok {
			b.add("stamps", t.ID, uint32(rank(start)), uint32(rank(commit)))
			b.end(out)
		}
		return true
	})
	if wrong == nil && len(order) == 0 {
		b.add("order") // of nobody
		b.end(out)
	}
	if wrong != nil {
		numbers := []uint32{wrong.T, wrong.U, wrong.K}
		b.add([...]string{"early", "overlaps", "conflicts", "unexplained"}[wrong.Kind],
			numbers[:[...]int{1, 2, 3, 1}[wrong.Kind]]...)
		b.end(out)
	}
	return out.Flush()
}
