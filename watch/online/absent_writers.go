package online

import (
	"slices"

	"isovet/history"
	"isovet/internal/keyed"
)

// A stream that begins in the middle does not say which values keys had at first. If a read sees a version that no
// transaction of the stream wrote, the engine assumes a writer outside the stream: a transaction of unknown outcome
// without times. It stands right before the reader in the order, and windows may move it. If a later arrival wrote the
// version, the assumed writer is removed, and its readers wait for the arrival. If values repeat, both may have
// written it, and the assumed writer stays.

// unseenLine is the line number of assumed writers outside the stream.
const unseenLine = -2

// foreignWrite assumes a writer outside the stream for a version.
func (e *Engine) foreignWrite(k kv) {
	e.cells[k.key].unseen = true
	e.foreign(&Arrival{Line: unseenLine, Session: NoSession, Status: history.Unknown,
		Writes: []Op{{Key: k.key, Val: k.val}}})
}

// mayUnseen reports whether a writer outside the stream may have written a version of the key. start is the begin of
// its reader.
func (e *Engine) mayUnseen(key uint32, start int64) bool {
	return e.isOpen(key) || e.stream.attached && start <= max(e.stream.origin, e.stream.closed)
}

// isOpen reports whether a writer outside the stream may have written a version of the key before any reader.
func (e *Engine) isOpen(key uint32) bool { return e.stream.lost || e.cells[key].open }

// hasCome reports whether a writer of the version has arrived and is not placed yet. If values repeat at the levels
// with real time, it must have begun before a reader with this end ended.
func (e *Engine) hasCome(k kv, end int64) (come bool) {
	after := e.o.Level.RealTime() && e.repeats(k.val)
	e.pendingWriters(k, func(t uint32) {
		come = come || !after || Plus(e.slots[t].start, -e.o.Skew) <= Plus(end, e.o.Skew)
	})
	return come
}

// repeats reports whether several transactions may write this value to a key: it is null, or values of the stream
// repeat.
func (e *Engine) repeats(val uint64) bool { return val == 0 || e.stream.repeated }

// mayRepeat reports whether another, unknown transaction may have written a version: before the stream, in a lost line
// or, if the key's values repeat, later.
func (e *Engine) mayRepeat(k kv) bool {
	return (e.stream.lost || e.stream.attached && !e.cells[k.key].said) && e.repeats(k.val) || e.mayComeAgain(k)
}

// mayComeAgain reports whether the version may have another writer that is still to come or is forgotten. This is
// possible if the key's values have repeated.
func (e *Engine) mayComeAgain(k kv) bool {
	c := &e.cells[k.key]
	return (!e.stream.ended || e.stats.Forgotten > 0) && (c.again || k.val == 0 && c.nulled)
}

// Again notes that values of a key repeat.
func (e *Engine) Again(key uint32) { e.cells[key].again, e.stream.repeated = true, true }

// noteRepeats notes if a transaction writes a value that its key had before: its first value, or one of the latest
// writes.
func (e *Engine) noteRepeats(a *Arrival) {
	if e.stream.latest == nil {
		e.stream.latest = make([]uint64, numLatest)
	}
	for _, ops := range [2][]Op{a.Writes, a.Lost} {
		for _, o := range ops {
			c := &e.cells[o.Key]
			if o.Val == 0 {
				c.nulled = true
				e.spoil(c.hash, a)
				continue
			}
			h := keyed.Scramble(c.hash ^ keyed.Scramble(o.Val))
			at := &e.stream.latest[h%numLatest]
			if *at == h || o.Val == c.init {
				e.Again(o.Key)
			}
			*at = h
		}
	}
}

// numLatest is the number of recent writes in memory.
const numLatest = 1 << 16

// assume assumes writers outside the stream for reads of a transaction that is about to be placed.
func (e *Engine) assume(t uint32) {
	for i := range e.slots[t].reads {
		x := &e.slots[t]
		k := kv{x.reads[i].key, x.reads[i].val}
		if !e.mayUnseen(k.key, x.start) || e.inOrder(k, noSlot) || len(e.unknown.pool[k]) > 0 ||
			e.dug(k) != nil && !e.mayRepeat(k) ||
			e.hasCome(k, x.end) {
			continue
		}
		c := &e.cells[k.key]
		c.open = c.open && x.start <= e.stream.origin
		e.foreignWrite(k)
		for _, w := range e.unknown.pool[k] {
			if e.slots[w].commit == nowhere {
				e.enter(w)
				break
			}
		}
	}
}

// enter places a transaction of the pool at the end of the order.
func (e *Engine) enter(t uint32) {
	x := &e.slots[t]
	x.begin, x.commit = e.tail(), e.tail()
	e.order = append(e.order, event(t)<<2|whole)
	e.placed++
	e.weights.orderSize.add(x, 1)
	for i := range x.writes {
		e.install(t, x, i)
	}
}

// dismiss removes the assumed writers of versions that a transaction of the stream wrote.
func (e *Engine) dismiss(ops []Op) {
	for _, o := range ops {
		c := &e.cells[o.Key]
		if !c.unseen || e.repeats(o.Val) || e.budget.credit < 0 {
			continue // a writer outside may have written it too
		}
		for _, t := range slices.Clone(e.unknown.pool[kv{o.Key, o.Val}]) {
			x := &e.slots[t]
			if x.line != unseenLine {
				continue
			}
			c.open = c.open || c.val == unknowable && !c.forgotten || c.forgotten && c.start <= e.stream.origin
			readers := e.withdraw(t)
			e.unpool(t)
			e.release(t)
			for _, m := range readers {
				e.wait(m)
			}
		}
	}
}

// withdraw removes an assumed writer from the order and returns its readers.
func (e *Engine) withdraw(t uint32) (readers []misfit) {
	x := &e.slots[t]
	if x.commit == nowhere {
		return nil
	}
	w := &x.writes[0] // there is but one
	to := e.tail()
	if w.next != none {
		y, _ := e.at(w.next)
		to = y.commit + 1 // a transaction that replaces it may have read it
	}
	e.budget.credit -= (to - x.commit) / 512
	for p := x.commit + 1; p < to; p++ {
		v := e.order[p-e.first]
		if v&begins == 0 {
			continue
		}
		for i := range e.slots[v.slot()].reads {
			if r := &e.slots[v.slot()].reads[i]; r.key == w.key && r.val == w.val && r.state == counts {
				readers = append(readers, misfit{v.slot(), i})
			}
		}
	}
	e.link(w.key, w.prev, w.next)
	e.order[x.begin-e.first], e.order[x.commit-e.first] = 0, 0
	e.placed--
	e.weights.orderSize.add(x, -1)
	x.begin, x.commit = nowhere, nowhere
	return readers
}
