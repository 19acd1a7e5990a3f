package online

import "isovet/history"

// Blind writes can contradict a later read: two transactions write a key at about the same time, nobody reads the
// second version, and later a read sees the first. A window up to the end of the order would be long. A local window
// has only the two writers and the transactions between them. After it all keys have the same values as before, except
// that key.

// farAway bounds the length of a local window.
const farAway = 256

// local looks for an order of the stretch from the writer of the read version to the last writer before the reader, so
// that the key then has the value that was read.
func (e *Engine) local(m misfit) bool {
	if m.i < 0 {
		return false
	}
	x := &e.slots[m.slot]
	r := &x.reads[m.i]
	from, to := int64(-1), int64(-1)
	for at := e.cells[r.key].head; at != none; {
		y, w := e.at(at)
		if y.commit < x.begin {
			if w.val == r.val {
				from = y.begin
				break
			}
			if w.seen {
				return false
			}
			if to < 0 {
				to = y.commit
			}
		}
		at = w.prev
	}
	if from < 0 || to < 0 || to-from > farAway || e.tail()-to < int64(nearby) {
		return false
	}
	if from, to = e.closed(from, to); to-from > farAway || to >= x.begin {
		return false
	}
	if e.members(from, to); !e.reorderMidst(to, r.key, r.val) {
		return false
	}
	e.marks([]uint32{m.slot})
	return true
}

// closed widens a stretch until every transaction that begins or commits in it does both in it.
func (e *Engine) closed(from, to int64) (int64, int64) {
	lo, hi := from, to
	for p := lo; p <= hi && hi-lo <= farAway; p++ {
		v := e.order[p-e.first]
		if v&3 == 0 || v&3 == whole {
			continue
		}
		x := &e.slots[v.slot()]
		hi = max(hi, x.commit)
		if x.begin < lo {
			lo = x.begin
			p = lo - 1
		}
	}
	return lo, hi
}

// reorderMidst looks for an order of the window after which the key has value val and all other keys the same values
// as before.
func (e *Engine) reorderMidst(to int64, key uint32, val uint64) bool {
	e.begin()
	w := &e.w
	w.by = e.sessions(w.members, w.by)
	b := history.NewBuilder()
	hint := make([]int64, 0, len(w.members)+2)
	final := map[uint32]uint64{}
	var keys []uint32
	for _, t := range w.members {
		x := &e.slots[t]
		for i := range x.writes {
			k := x.writes[i].key
			if _, ok := final[k]; !ok {
				keys = append(keys, k)
				final[k] = e.lastIn(k, to)
			}
		}
	}
	final[key] = val
	for i, j := range w.by {
		x := &e.slots[w.members[j]]
		for n := range x.reads {
			if r := &x.reads[n]; r.state == counts {
				b.Read(keyOf(b, r.key), value(r.val))
			}
		}
		for n := range x.writes {
			b.Write(keyOf(b, x.writes[n].key), value(x.writes[n].val))
		}
		b.Write(b.Key(history.IntValue(-1-int64(i))), history.IntValue(1)) // so that the last one comes after it
		head := x.head()
		head.Status = history.Committed // it stands in the order
		if x.status != history.Committed {
			head.End = history.NoTime
		}
		b.EndTxn(head)
		hint = append(hint, w.hint[j])
	}
	for _, k := range keys {
		b.Read(keyOf(b, k), value(final[k]))
	}
	for i := range w.by {
		b.Read(b.Key(history.IntValue(-1-int64(i))), history.IntValue(1))
	}
	b.EndTxn(history.NewTxnHead())
	a := e.solveWindow(b, append(hint, 2*(to-w.from+1)+1))
	if a.status != solved {
		return false
	}
	events := e.events(a.order)
	if int64(len(events)) > to-w.from+1 {
		return false
	}
	e.adoptMidst(events, to)
	return true
}

// lastIn returns the value of a key after position to.
func (e *Engine) lastIn(key uint32, to int64) uint64 {
	c := &e.cells[key]
	for at := c.head; at != none; {
		y, w := e.at(at)
		if y.commit <= to {
			return w.val
		}
		at = w.prev
	}
	return c.val
}

// adoptMidst changes the order of the stretch to events. Positions that become free stay empty.
func (e *Engine) adoptMidst(events []event, to int64) {
	w := &e.w
	// The stretch's versions leave the middle of their keys' chains; after has the versions behind them.
	after := map[uint32]ref{}
	for _, t := range w.members {
		for i := range e.slots[t].writes {
			k := e.slots[t].writes[i].key
			if _, done := after[k]; done {
				continue
			}
			next := none
			at := e.cells[k].head
			for {
				y, v := e.at(at)
				if y.commit <= to {
					break
				}
				next, at = at, v.prev
			}
			for at != none {
				y, v := e.at(at)
				if y.commit < w.from {
					break
				}
				at = v.prev
			}
			after[k] = next
			e.link(k, at, next)
		}
	}
	p := w.from
	for _, v := range events {
		t := v.slot()
		x := &e.slots[t]
		e.order[p-e.first] = v
		if v&begins != 0 {
			x.begin = p
		}
		if v&commits != 0 {
			x.commit = p
			for i := range x.writes {
				k := x.writes[i].key
				next := after[k]
				at := e.cells[k].head
				if next != none {
					_, n := e.at(next)
					at = n.prev
				}
				me := refOf(t, i)
				e.link(k, at, me)
				e.link(k, me, next)
			}
		}
		p++
	}
	for ; p <= to; p++ {
		e.order[p-e.first] = 0
	}
	e.marks(w.members)
}

// link makes version b of a key follow version a. If one is none, the other becomes the key's first or last one in
// memory.
func (e *Engine) link(key uint32, a, b ref) {
	if b == none {
		e.cells[key].head = a
	} else {
		_, w := e.at(b)
		w.prev = a
	}
	if a != none {
		_, w := e.at(a)
		w.next = b
	}
}
