package online

import (
	"slices"

	"isovet/internal/keyed"
)

// waitingTxn is a transaction that the watermark has not passed.
type waitingTxn struct {
	end, line int64
	slot      uint32
}

func (a waitingTxn) less(b waitingTxn) bool {
	return a.end < b.end || a.end == b.end && a.line < b.line
}

// pendingHeap is a heap of waiting transactions by end.
type pendingHeap struct{ all []waitingTxn }

func (h *pendingHeap) len() int            { return len(h.all) }
func (h *pendingHeap) at(i int) waitingTxn { return h.all[i] }

func (h *pendingHeap) push(t waitingTxn) {
	h.all = append(h.all, t)
	i := len(h.all) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !t.less(h.all[p]) {
			break
		}
		h.all[i] = h.all[p]
		i = p
	}
	h.all[i] = t
}

func (h *pendingHeap) pop() waitingTxn {
	top := h.all[0]
	n := len(h.all) - 1
	t := h.all[n]
	h.all = h.all[:n]
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		best := c
		for j := c + 1; j < min(c+4, n); j++ {
			if h.all[j].less(h.all[best]) {
				best = j
			}
		}
		if !h.all[best].less(t) {
			break
		}
		h.all[i] = h.all[best]
		i = best
	}
	if n > 0 {
		h.all[i] = t
	}
	return top
}

// queue is a first-in, first-out queue.
type queue[T any] struct {
	all  []T
	from int
}

func (q *queue[T]) push(x T) { q.all = append(q.all, x) }
func (q *queue[T]) len() int { return len(q.all) - q.from }
func (q *queue[T]) top() *T  { return &q.all[q.from] }
func (q *queue[T]) pop() (x T) {
	x = q.all[q.from]
	if q.from++; q.from > 1024 && 2*q.from > len(q.all) {
		q.all = q.all[:copy(q.all, q.all[q.from:])]
		q.from = 0
	}
	return x
}

// pendingWrites finds waiting transactions by a version that they wrote. A proof builds it when it first needs it, and
// it is dropped if it is unused for a while, so that a stream without violations does not pay for it.
type pendingWrites struct {
	on    bool
	table []uint32 // open addressing: hash of a version → 1 + a slot, which may be free by now
	n     int
	asked bool // since the table was made
}

func hashOf(k kv) uint64 { return keyed.Scramble(uint64(k.key)*0x9e3779b97f4a7c15 ^ k.val) }

// noteWrites adds the writes of a transaction, if the table exists.
func (e *Engine) noteWrites(t uint32) {
	p := &e.wrote
	if !p.on {
		return
	}
	x := &e.slots[t]
	if p.n += len(x.writes); 2*p.n > len(p.table) {
		if p.on = p.asked; p.on {
			e.indexPending() // it is one of them
		} else {
			p.table, p.n = nil, 0
		}
		return
	}
	e.enterWrites(t)
}

func (e *Engine) enterWrites(t uint32) {
	p := &e.wrote
	m := uint64(len(p.table) - 1)
	for _, w := range e.slots[t].writes {
		i := hashOf(kv{w.key, w.val}) & m
		for p.table[i] != 0 {
			i = (i + 1) & m
		}
		p.table[i] = t + 1
	}
}

func (e *Engine) indexPending() {
	p := &e.wrote
	p.n = 0
	for _, t := range e.pending.all {
		p.n += len(e.slots[t.slot].writes)
	}
	size := 1024
	for size < 4*p.n {
		size *= 2
	}
	p.table, p.on, p.asked = make([]uint32, size), true, false
	for _, t := range e.pending.all {
		e.enterWrites(t.slot)
	}
}

// pendingWriters calls each with the waiting writers of a version. It may repeat one.
func (e *Engine) pendingWriters(k kv, each func(t uint32)) {
	p := &e.wrote
	if !p.on {
		e.indexPending()
	}
	p.asked = true
	m := uint64(len(p.table) - 1)
	for i := hashOf(k) & m; p.table[i] != 0; i = (i + 1) & m {
		t := p.table[i] - 1
		if x := &e.slots[t]; x.pending && slices.ContainsFunc(x.writes, func(w write) bool {
			return w.key == k.key && w.val == k.val
		}) {
			each(t)
		}
	}
}
