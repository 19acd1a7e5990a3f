package linear

import (
	"cmp"
	"math"
	"slices"

	"isovet/evidence"
	"isovet/internal/heap"
	"isovet/internal/slice"
)

// fifo decides a queue of distinct values, unless there are both unknown dequeues and dequeues that found nothing.
//
// Source: Henzinger, Sezgin and Vafeiadis, "Aspect-oriented linearizability proofs" (2013): fresh, repeat, order and
// empty. Differs: unknown dequeues get the values that must be gone the earliest. Cost: O(n log n).
func fifo(_ func() bool, ops []Op) (Answer, bool) {
	d, ok := spansOf(ops, "enqueue")
	if !ok {
		return Answer{}, false
	}
	d.outOfOrder()
	if d.bad != nil {
		return *d.bad, true
	}
	free := d.covered()
	if d.bad != nil {
		return *d.bad, len(d.unknown) == 0
	}
	order, ok := d.arranged(free)
	return Answer{Verdict: evidence.Holds, Order: order}, ok
}

// outOfOrder finds a value that was enqueued before another and dequeued after it, or never. It assigns unknown
// dequeues to values that must be gone.
func (d *distinct) outOfOrder() {
	byRet, byPut := slices.Clone(d.spans), slice.Numbers[int](len(d.spans))
	slices.SortFunc(byRet, func(a, b span) int { return cmp.Compare(a.putRet, b.putRet) })
	slices.SortFunc(byPut, func(a, b int) int { return cmp.Compare(d.spans[a].putCall, d.spans[b].putCall) })
	var late *span // the value enqueued before b that is dequeued last
	next := 0
	for _, i := range byPut {
		b := &d.spans[i]
		for ; next < len(byRet) && byRet[next].putRet < b.putCall; next++ {
			gone := byRet[next].take >= 0 || len(d.unknown) == 0
			if gone && (late == nil || byRet[next].takeCall > late.takeCall) {
				late = &byRet[next]
			}
		}
		if b.take >= 0 && late != nil && late.takeCall > b.takeRt {
			d.violated("order", late.put, late.take, b.put, b.take)
			return
		}
	}
	if len(d.unknown) == 0 {
		return
	}
	// deadline: a value without a known dequeue must be gone by the first return of a dequeue of a later value.
	type deadline struct{ span, behind int }
	var due []deadline
	first, last := -1, len(byPut)-1 // of the values enqueued last, the one dequeued first
	slices.SortFunc(byRet, func(a, b span) int { return cmp.Compare(b.putRet, a.putRet) })
	number := map[int]int{}
	for i := range d.spans {
		number[d.spans[i].put] = i
	}
	for _, a := range byRet {
		for ; last >= 0 && d.spans[byPut[last]].putCall > a.putRet; last-- {
			if b := byPut[last]; d.spans[b].take >= 0 && (first < 0 || d.spans[b].takeRt < d.spans[first].takeRt) {
				first = b
			}
		}
		if a.take < 0 && first >= 0 {
			due = append(due, deadline{number[a.put], first})
		}
	}
	slices.SortStableFunc(due, func(a, b deadline) int {
		return cmp.Compare(d.spans[a.behind].takeRt, d.spans[b.behind].takeRt)
	})
	slices.SortStableFunc(d.unknown, func(a, b int) int { return cmp.Compare(d.ops[a].Call, d.ops[b].Call) })
	for k, a := range due {
		if k == len(d.unknown) || d.ops[d.unknown[k]].Call > d.spans[a.behind].takeRt {
			core := slices.Clone(d.unknown)
			for _, a := range due[:k+1] {
				core = append(core, d.spans[a.span].put, d.spans[a.behind].put, d.spans[a.behind].take)
			}
			d.violated("order", core...)
			return
		}
	}
	for k, a := range due {
		s := &d.spans[a.span]
		s.take = d.unknown[k]
		s.takeCall = d.ops[s.take].Call
	}
}

// arranged returns an order of a queue's operations. It takes the values by turns, and puts each operation as early as
// possible, but an enqueue after each instant at which the queue was found empty before the value's dequeue.
func (d *distinct) arranged(free []int64) (order []int, ok bool) {
	spans := slices.DeleteFunc(slices.Clone(d.spans), func(s span) bool { return s.take < 0 && s.putRet == never })
	turn, ok := turns(spans)
	if !ok {
		return nil, false
	}
	// An instant is multiplied by three: a call may be just before it, and a return just after.
	type event struct {
		at   int64
		kind int // found empty, put, take
		op   int
	}
	var events []event
	for i, e := range d.empty {
		events = append(events, event{3 * free[i], 0, e})
	}
	slices.Sort(free)
	put, take := int64(math.MinInt64), int64(math.MinInt64)
	for _, v := range turn {
		s := &spans[v]
		put = max(put, 3*s.putCall-1)
		if s.take < 0 {
			take = never
		} else {
			take = max(take, 3*s.takeCall-1, put)
		}
		n, _ := slices.BinarySearchFunc(free, take, func(at, to int64) int { return cmp.Compare(3*at, to) })
		if n > 0 {
			put = max(put, 3*free[n-1]+1)
		}
		events = append(events, event{put, 1, s.put})
		if take = max(take, put); s.take >= 0 {
			events = append(events, event{take, 2, s.take})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind))
	})
	return slice.Map(events, func(e event) int { return e.op }), true
}

// turns returns an order of a queue's values that agrees with the times of their operations. If several values may come
// next, it takes the one that can be dequeued first.
func turns(spans []span) (turn []int, ok bool) {
	byPut := slice.Numbers[int](len(spans))
	byTake, call := slices.Clone(byPut), slices.Clone(byPut)
	slices.SortFunc(byPut, func(a, b int) int { return cmp.Compare(spans[a].putRet, spans[b].putRet) })
	slices.SortFunc(byTake, func(a, b int) int { return cmp.Compare(spans[a].takeRt, spans[b].takeRt) })
	slices.SortFunc(call, func(a, b int) int { return cmp.Compare(spans[a].putCall, spans[b].putCall) })
	out := make([]bool, len(spans))
	var ready heap.Heap[int64, int] // values whose enqueues allow that they are next, by the call of the dequeue
	put, take, next := 0, 0, 0
	for len(turn) < len(spans) {
		for out[byPut[put]] {
			put++
		}
		for out[byTake[take]] {
			take++
		}
		limit := min(spans[byPut[put]].putRet, spans[byTake[take]].takeRt)
		for ; next < len(call) && spans[call[next]].putCall <= limit; next++ {
			ready.Push(spans[call[next]].takeCall, call[next])
		}
		if ready.Len() == 0 {
			return nil, false
		}
		called, v := ready.Pop()
		if called > spans[byTake[take]].takeRt {
			return nil, false
		}
		out[v] = true
		turn = append(turn, v)
	}
	return turn, true
}
