package online

import (
	"slices"

	"isovet/internal/saved"
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
	q.from++
	saved.Drop(&q.all, &q.from, 1024)
	return x
}

// pendingWrites finds waiting transactions by a version that they wrote. A proof builds it when it first needs it, and
// it is dropped if it is unused for a while, so that a stream without violations does not pay for it.
type pendingWrites struct {
	of      map[kv][]uint32 // slots, which may be free by now; nil: not built
	n, most int             // entries; how many there may be before it is built anew or dropped
	asked   bool            // since it was built
}

// noteWrites adds the writes of a transaction, if the table exists.
func (e *Engine) noteWrites(t uint32) {
	switch p := &e.wrote; {
	case p.of == nil:
	case p.n <= p.most:
		e.enterWrites(t)
	case p.asked:
		e.indexPending() // it is one of them
	default:
		p.of = nil
	}
}

func (e *Engine) enterWrites(t uint32) {
	for _, w := range e.slots[t].writes {
		k := kv{w.key, w.val}
		e.wrote.of[k] = append(e.wrote.of[k], t)
		e.wrote.n++
	}
}

func (e *Engine) indexPending() {
	e.wrote = pendingWrites{of: map[kv][]uint32{}}
	for _, t := range e.pending.all {
		e.enterWrites(t.slot)
	}
	e.wrote.most = max(512, 2*e.wrote.n)
}

// pendingWriters calls each with the waiting writers of a version. It may repeat one.
func (e *Engine) pendingWriters(k kv, each func(t uint32)) {
	if e.wrote.of == nil {
		e.indexPending()
	}
	e.wrote.asked = true
	for _, t := range e.wrote.of[k] {
		if x := &e.slots[t]; x.pending && slices.ContainsFunc(x.writes, func(w write) bool {
			return w.key == k.key && w.val == k.val
		}) {
			each(t)
		}
	}
}
