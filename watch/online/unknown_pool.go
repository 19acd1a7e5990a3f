package online

import (
	"math"
	"slices"
)

// pooled is an entry of the pool, with the watermark when it arrived.
type pooled struct {
	slot uint32
	line int64
	at   int64
}

// maxPool bounds the pool. If it is full, the oldest transaction leaves.
const maxPool = 1 << 16

// addPool puts a transaction that may have committed into the pool.
func (e *Engine) addPool(t uint32) {
	x := &e.slots[t]
	if len(x.writes) == 0 {
		e.release(t)
		return
	}
	x.pooled = true
	woken := false
	for i := range x.writes {
		w := &x.writes[i]
		k := kv{w.key, w.val}
		e.unknown.pool[k] = append(e.unknown.pool[k], t)
		woken = woken || e.cells[w.key].waits > 0
	}
	e.unknown.poolq.push(pooled{t, x.line, e.mark})
	e.unknown.nPool++
	e.weights.poolSize.add(x, 1)
	for e.unknown.nPool > maxPool || e.o.Memory > 0 && e.unknown.nPool > 1 && e.weights.poolSize.bytes > e.o.Memory/8 {
		e.drain()
	}
	if woken {
		e.wake(t)
	}
}

// drain removes the oldest transaction from the pool.
func (e *Engine) drain() {
	p := e.unknown.poolq.pop()
	x := &e.slots[p.slot]
	if x.line != p.line || !x.pooled {
		return // forgotten with the order in the meantime
	}
	e.unpool(p.slot)
	if x.commit == nowhere {
		for _, w := range x.writes {
			e.inter(kv{w.key, w.val}, grave{line: x.line, start: x.start, end: x.end, over: e.mark, kind: dropped})
			e.cells[w.key].doubt |= 1 << (w.val % 64)
		}
		e.release(p.slot)
	}
}

func (e *Engine) unpool(t uint32) {
	x := &e.slots[t]
	x.pooled = false
	e.unknown.nPool--
	e.weights.poolSize.add(x, -1)
	for i := range x.writes {
		k := kv{x.writes[i].key, x.writes[i].val}
		l := slices.DeleteFunc(e.unknown.pool[k], func(y uint32) bool { return y == t })
		if len(l) == 0 {
			delete(e.unknown.pool, k)
		} else {
			e.unknown.pool[k] = l
		}
	}
}

// expirePool removes the transactions that no read needed within the patience.
func (e *Engine) expirePool(mark int64) {
	if e.o.Patience <= 0 {
		return
	}
	for e.unknown.poolq.len() > 0 && Plus(max(e.unknown.poolq.top().at, e.stream.origin), e.o.Patience) < mark {
		e.drain()
	}
}

// mayPool reports whether the pool has a writer of the version that is not in the order and whose own reads have
// writers. bad is a read without a writer of another candidate, if some is true.
func (e *Engine) mayPool(k kv) (may bool, bad ReadAt, some bool) {
next:
	for _, t := range e.unknown.pool[k] {
		x := &e.slots[t]
		if x.commit != nowhere {
			continue
		}
		for _, r := range x.reads {
			if r.state == counts && !e.mayUnseen(r.key, x.start) && !e.exists(kv{r.key, r.val}) {
				bad, some = ReadAt{x.line, r.at}, true
				continue next
			}
		}
		return true, bad, some
	}
	return false, bad, some
}

// exists reports whether a transaction that committed, or may have, wrote a version.
func (e *Engine) exists(k kv) bool {
	if len(e.unknown.pool[k]) > 0 || e.inOrder(k, noSlot) {
		return true
	}
	return e.mayBePast(k, math.MinInt64)
}

// inOrder reports whether the order has a version, written by another transaction than but, or begins with it as the
// key's value.
func (e *Engine) inOrder(k kv, but uint32) bool {
	c := &e.cells[k.key]
	if c.val == k.val && !c.open {
		return true
	}
	for at := c.head; at != none; {
		_, w := e.at(at)
		if w.val == k.val && at.slot() != but {
			return true
		}
		at = w.prev
	}
	return false
}
