package online

import (
	"math"

	"isovet/history"
	"isovet/internal/bounds"
)

// ref identifies a write: its transaction's slot, and its index there.
type ref uint64

const (
	none    = ^ref(0)
	noSlot  = ^uint32(0)
	gone    = math.MinInt64 // the line of a slot that is free
	nowhere = int64(math.MinInt64)
)

func refOf(t uint32, i int) ref { return ref(t)<<32 | ref(i) }
func (r ref) slot() uint32      { return uint32(r >> 32) }

type kv struct {
	key uint32
	val uint64
}

// readState says whether the order must explain a read.
type readState uint8

const (
	counts  readState = iota
	waits             // for a writer
	put               // put off, until other transactions are placed
	excused           // reported, or it cannot be judged
)

type read struct {
	val   uint64
	key   uint32
	at    uint32
	state readState
}

type write struct {
	val        uint64
	prev, next ref // versions of the key, in the order
	key        uint32
	seen       bool // a transaction in the order may read it
}

// txn is a transaction in memory.
type txn struct {
	line, start, end int64
	begin, commit    int64 // positions in the order
	seq              int64
	reads            []read
	writes           []write
	sess             uint32
	sprev, snext     uint32 // in the session, among those in the order
	stamp            uint32
	status           history.Status
	size, ops        uint32 // its memory, the number of its operations
	foreign, pooled  bool
	pending          bool
}

// event is an entry of the order: slot<<2, and bits that say whether it is a begin, a commit or both.
type event uint64

const (
	begins  event = 1
	commits event = 2
	whole   event = 3
)

func (v event) slot() uint32 { return uint32(v >> 2) }

// session is the state of a session: its last transaction in the order.
type session struct {
	last uint32
	// past is the greatest seq of its forgotten transactions.
	past int64
	// rank orders sessions by the first of their lines in a selection. Session numbers would depend on which sessions
	// were on disk.
	rank int64 `freeze:"-"`
}

// session returns session n, and adds it if it is new.
func (e *Engine) session(n uint32) *session {
	for int(n) >= len(e.sess) {
		e.sess = append(e.sess, session{last: noSlot, past: math.MinInt64})
	}
	return &e.sess[n]
}

// misfit is a contradicting read: one that contradicts the order. If i < 0, it is a transaction that comes too late in
// the order for its session.
type misfit struct {
	slot uint32
	i    int
}

func (e *Engine) tail() int64 { return e.first + int64(len(e.order)) }

func (e *Engine) at(r ref) (*txn, *write) {
	t := &e.slots[r.slot()]
	return t, &t.writes[uint32(r)]
}

// place puts a transaction at the end of the order.
func (e *Engine) place(t uint32) {
	e.fuel()
	e.slots[t].pending = false
	e.weights.waitSize.add(&e.slots[t], -1)
	if e.stream.attached || e.stream.lost {
		e.assume(t)
	}
	x := &e.slots[t]
	e.weights.orderSize.add(x, 1)
	e.budget.credit = min(e.budget.credit+creditEach, int64(maxCredit))
	e.out.misfits = e.out.misfits[:0]
	for i := range x.reads {
		r := &x.reads[i]
		c := &e.cells[r.key]
		if c.head == none {
			if c.val != r.val || c.open {
				e.out.misfits = append(e.out.misfits, misfit{t, i})
			}
		} else if _, w := e.at(c.head); w.val != r.val {
			e.out.misfits = append(e.out.misfits, misfit{t, i})
		} else {
			w.seen = true
		}
	}
	x.begin, x.commit = e.tail(), e.tail()
	e.order = append(e.order, event(t)<<2|whole)
	e.placed++
	woken := false
	for i := range x.writes {
		e.install(t, x, i)
		woken = woken || e.cells[x.writes[i].key].waits > 0
	}
	if e.o.Level.Sessions() && x.sess != NoSession && e.session(x.sess).past > x.seq {
		e.undecided([]misfit{{t, -1}}) // a later one of its session is forgotten
	} else if e.o.Level.Sessions() && x.sess != NoSession && !e.join(t) {
		e.out.misfits = append(e.out.misfits, misfit{t, -1})
	}
	if len(e.out.misfits) > 0 {
		e.stats.Misfits += int64(len(e.out.misfits))
		e.resolve(e.out.misfits)
	}
	if woken {
		e.wake(t)
	}
	if len(e.out.later) > 0 {
		e.revisit(e.slots[t].end)
	}
	for len(e.unknown.news) > 0 {
		n := e.unknown.news[len(e.unknown.news)-1]
		e.unknown.news = e.unknown.news[:len(e.unknown.news)-1]
		if e.slots[n].commit != nowhere {
			e.wake(n)
		}
	}
}

func (e *Engine) install(t uint32, x *txn, i int) {
	w := &x.writes[i]
	c := &e.cells[w.key]
	w.prev, w.next = c.head, none
	if c.head != none {
		_, p := e.at(c.head)
		p.next = refOf(t, i)
	}
	c.head = refOf(t, i)
}

// join adds a transaction to its session, by seq. It returns false if a later transaction of the session precedes it
// in the order. A place that occurs twice says nothing of the order: the second transaction gets no session.
func (e *Engine) join(t uint32) bool {
	x := &e.slots[t]
	s := e.session(x.sess)
	next, prev := noSlot, s.last
	for prev != noSlot && e.slots[prev].seq > x.seq {
		next, prev = prev, e.slots[prev].sprev
	}
	if next != noSlot && prev != noSlot && e.slots[prev].seq == x.seq { // the session's numbers begin anew
		x.sess = NoSession
		return true
	}
	x.sprev, x.snext = prev, next
	if prev != noSlot {
		e.slots[prev].snext = t
	}
	if next == noSlot {
		s.last = t
	} else {
		e.slots[next].sprev = t
	}
	return next == noSlot
}

// leave removes a transaction from its session.
func (e *Engine) leave(t uint32) {
	x := &e.slots[t]
	if x.sess == NoSession || !e.o.Level.Sessions() {
		return
	}
	s := e.session(x.sess)
	switch {
	case x.snext != noSlot:
		e.slots[x.snext].sprev = x.sprev
	case s.last == t:
		s.last = x.sprev
	default:
		return // it was not in it
	}
	if x.sprev != noSlot {
		e.slots[x.sprev].snext = x.snext
	}
	x.sprev, x.snext = noSlot, noSlot
}

// nearby is how many positions a window may begin before the reader to include the writer of its version.
var nearby = 64

func init() { bounds.Register("online.nearby", &nearby) }

// span returns where the window must begin in which another order may explain a contradicting read. It returns false
// if the writer of the read's version is unknown.
func (e *Engine) span(m misfit) (from int64, known bool) {
	x := &e.slots[m.slot]
	if m.i < 0 {
		from = x.begin
		for n := x.snext; n != noSlot; n = e.slots[n].snext {
			from = min(from, e.slots[n].begin)
		}
		return from, true
	}
	r := &x.reads[m.i]
	c := &e.cells[r.key]
	next := x.begin
	for at := c.head; at != none; {
		y, w := e.at(at)
		if w.val == r.val && at.slot() != m.slot {
			switch {
			case y.commit > x.begin:
				return x.begin, true
			case next-y.begin <= int64(nearby):
				return y.begin, true
			}
			return next, true
		}
		if y.commit <= x.begin && at.slot() != m.slot {
			next = y.commit
		}
		at = w.prev
	}
	if c.val == r.val && !c.open {
		return next, true
	}
	if may, _, _ := e.mayPool(kv{r.key, r.val}); may {
		return x.begin, true
	}
	return 0, false
}

// resolve looks for an order that explains the contradicting reads. If there is none, it reports them.
func (e *Engine) resolve(ms []misfit) {
	from := int64(math.MaxInt64)
	kept := ms[:0]
	for _, m := range ms {
		at, known := e.span(m)
		if !known {
			e.wait(m)
			continue
		}
		if e.local(m) {
			continue
		}
		from = min(from, at)
		kept = append(kept, m)
	}
	if len(kept) == 0 {
		return
	}
	for _, m := range kept {
		if e.direct(m) {
			e.excuse(kept)
			return
		}
	}
	size := e.tail() - from
	e.attempt.others = math.MinInt64
	e.budget.spent = 0
	for {
		if e.budget.credit < 0 && e.tail()-from > int64(nearby) {
			e.skip(kept)
			return
		}
		switch e.reorder(from) {
		case solved:
			e.payFound()
			return
		case unsolved:
			if e.refute(kept) {
				e.pay(proofCost * int64(e.attempt.size))
				e.excuse(kept)
				return
			}
		}
		if from == e.first || e.budget.steps <= 0 {
			e.pay(0)
			switch {
			case e.budget.steps <= 0:
				e.undecided(kept)
			case e.attempt.others > math.MinInt64:
				e.postpone(kept)
			case e.attempt.dead && !e.stream.final:
				e.awaitDeadWriters(kept)
			default:
				e.undecided(kept)
			}
			return
		}
		size = max(16, e.growth()*size)
		from = max(e.first, e.tail()-size)
	}
}

// growth is the factor by which windows grow. If neither real time nor sessions order transactions, almost all of a
// window can be reordered, and the cost of solving grows faster than the window.
func (e *Engine) growth() int64 {
	if e.o.Level.RealTime() || e.o.Level.Sessions() {
		return 8
	}
	return 3
}

// excuse stops checking contradicting reads, so that the order is right without them.
func (e *Engine) excuse(ms []misfit) {
	for _, m := range ms {
		if m.i < 0 {
			e.leave(m.slot)
			e.slots[m.slot].sess = NoSession
		} else {
			e.slots[m.slot].reads[m.i].state = excused
		}
	}
}
