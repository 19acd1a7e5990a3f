package online

import (
	"math"
	"slices"

	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/keyed"
)

// graveKind says why the order does not contain a version.
type graveKind uint8

const (
	empty graveKind = iota
	overwritten
	abortedWrite
	lostWrite  // overwritten by the same transaction
	impossible // by a transaction that cannot have committed
	dropped    // by one that may have committed, and has left the pool
)

// grave remembers a version that is not in the order, and its writer.
type grave struct {
	key, val         uint64 // the key's hash
	line, start, end int64
	over             int64 // overwritten, dropped: when it had been
	kind             graveKind
}

// numGraves is the number of graves, at 56 bytes each, a power of two. A version has two possible graves by its hash;
// it replaces the older one.
var numGraves = 1 << 16

func init() { bounds.Register("online.numGraves", &numGraves) }

func (e *Engine) inter(k kv, g grave) {
	g.key, g.val = e.cells[k.key].hash, k.val
	if len(e.graves) == 0 {
		e.graves = make([]grave, numGraves)
	}
	i := e.graveOf(g.key, g.val)
	j := i ^ 1
	if e.graves[i].kind != empty && (e.graves[j].kind == empty || e.graves[j].line < e.graves[i].line) {
		i = j
	}
	if k := e.graves[i].kind; k == overwritten || k == dropped {
		e.stream.past = max(e.stream.past, e.graves[i].over)
	}
	e.graves[i] = g
}

func (e *Engine) graveOf(key, val uint64) uint64 {
	return keyed.Scramble(key*0x9e3779b97f4a7c15^val) & uint64(len(e.graves)-1)
}

// mayBePast reports whether a reader that began at start may have read a version that is forgotten.
func (e *Engine) mayBePast(k kv, start int64) bool {
	c, g := &e.cells[k.key], e.dug(k)
	if g != nil {
		return g.kind == overwritten || g.kind == dropped
	}
	return e.doubted(k) || c.forgotten && e.stream.past > math.MinInt64 &&
		(!e.o.Level.RealTime() || Plus(start, -e.o.Skew) <= Plus(e.stream.past, e.o.Skew))
}

// doubted reports whether a key may still have a version that is forgotten.
func (e *Engine) doubted(k kv) bool {
	return e.stream.past > math.MinInt64 && e.cells[k.key].doubt&(1<<(k.val%64)) != 0
}

// surelyAfter reports whether a transaction certainly overwrote the last forgotten version of a key: it read the
// version, or began after the writer's end.
func (e *Engine) surelyAfter(x *txn, key uint32) bool {
	c := &e.cells[key]
	return c.line == noLine || Plus(c.end, e.o.Skew) < Plus(x.start, -e.o.Skew) || slices.ContainsFunc(x.reads,
		func(r read) bool { return r.key == key && r.val == c.val && r.state == counts })
}

// dug returns the grave of a version, or nil.
func (e *Engine) dug(k kv) *grave {
	if len(e.graves) == 0 {
		return nil
	}
	key := e.cells[k.key].hash
	i := e.graveOf(key, k.val)
	for _, i := range [2]uint64{i, i ^ 1} {
		if g := &e.graves[i]; g.kind != empty && g.key == key && g.val == k.val {
			return g
		}
	}
	return nil
}

// bury makes graves for writes that no read may see.
func (e *Engine) bury(ops []Op, a *Arrival, kind graveKind) {
	for _, o := range ops {
		e.inter(kv{o.Key, o.Val}, grave{line: a.Line, start: a.Start, end: a.End, kind: kind})
	}
}

// forget removes the first eighth of the transactions from memory. From then on their order is fixed.
func (e *Engine) forget() {
	to := e.first + int64(max(len(e.order)-e.o.Horizon*7/8, len(e.order)/8, 1))
	for again := true; again; {
		again = false
		for p := e.first; p < to; p++ {
			if v := e.order[p-e.first]; v&3 == begins && e.slots[v.slot()].commit >= to {
				to, again = p, true
				break
			}
		}
	}
	for p := e.first; p < to; p++ {
		v := e.order[p-e.first]
		t := v.slot()
		if v&commits != 0 {
			e.forgetTxn(t)
		}
	}
	e.order = e.order[to-e.first:]
	e.first = to
}

func (e *Engine) forgetTxn(t uint32) {
	x := &e.slots[t]
	for i := range x.reads {
		if r := &x.reads[i]; r.state == waits {
			for _, w := range e.await.waits[kv{r.key, r.val}] {
				if w.slot == t && w.i == i {
					w.slot = noSlot
				}
			}
		}
	}
	for i := range x.writes {
		w := &x.writes[i]
		c := &e.cells[w.key]
		if c.forgotten || c.line == noLine && !c.open {
			e.inter(kv{w.key, c.val}, grave{line: c.line, start: c.start, end: c.end, over: e.mark, kind: overwritten})
			if !e.surelyAfter(x, w.key) {
				c.doubt |= 1 << (c.val % 64)
			}
		}
		if x.status != history.Committed {
			c.doubt |= 1 << (w.val % 64)
		}
		c.val, c.line, c.start, c.end, c.forgotten = w.val, x.line, x.start, x.end, true
		if c.open && x.start > e.stream.origin { // otherwise a lost line may have followed
			c.open, e.stream.closed = false, max(e.stream.closed, Plus(e.mark, 2*e.o.Skew))
		}
		if w.next == none {
			c.head = none
		} else {
			_, n := e.at(w.next)
			n.prev = none
		}
	}
	if x.sess != NoSession && e.o.Level.Sessions() {
		s := e.session(x.sess)
		s.past = max(s.past, x.seq)
		e.leave(t)
	}
	if x.pooled {
		e.unpool(t)
	}
	e.placed--
	e.weights.orderSize.add(x, -1)
	e.stats.Forgotten++
	e.release(t)
}
