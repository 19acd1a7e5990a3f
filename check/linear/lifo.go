package linear

import (
	"cmp"
	"math"
	"slices"

	"isovet/evidence"
)

// maxPeel bounds the work of peeling a stack, rounds times values, and maxBuilt the values of one that is put together.
const (
	maxPeel  = 50_000_000
	maxBuilt = 10_000
)

// lifo decides stacks of distinct values, but beside pops of unknown outcome.
//
// Source: Lee and Mathur, "Efficient decrease-and-conquer linearizability monitoring" (arXiv 2410.04581), stacks:
// values that can lie at the bottom are taken away, again and again. Differs: all of a round go at once, and an order
// is put together from the last. Cost: O(n log n) a round, O(n²) for the order.
func lifo(ops []Op) (Answer, bool) {
	d, ok := spansOf(ops, "push")
	if !ok || len(d.unknown) > 0 && d.bad == nil {
		return Answer{}, false
	}
	if d.bad != nil {
		return *d.bad, true
	}
	free := d.covered()
	var gone []bottom
	if d.bad == nil {
		gone, ok = d.peel()
	}
	if d.bad != nil {
		return *d.bad, true
	}
	if !ok || len(gone) > maxBuilt {
		return Answer{}, false
	}
	return Answer{Verdict: evidence.Holds, Order: d.built(gone, free)}, true
}

// bottom is a value that can lie at the bottom, and the instants of its push and pop.
type bottom struct {
	span
	push, pop int64
}

// peel takes away the values whose push and pop have an instant each at which no other value is surely in: they can lie
// at the bottom. Values that are left can not, whatever others do. ok is false where it takes too long.
func (d *distinct) peel() (gone []bottom, ok bool) {
	left := slices.DeleteFunc(slices.Clone(d.spans), func(s span) bool { return s.take < 0 && s.putRet == never })
	for work := 0; len(left) > 0; {
		if work += len(left); work > maxPeel {
			return nil, false
		}
		rest, more := stuck(left)
		if len(more) == 0 {
			break
		}
		left, gone = rest, append(gone, more...)
	}
	if len(left) == 0 {
		return gone, true
	}
	// few of them that are stuck: each is left out in turn
	for i := 0; i < len(left) && len(left) <= 1000; {
		if rest := slices.Delete(slices.Clone(left), i, i+1); allStuck(rest) {
			left = rest
		} else {
			i++
		}
	}
	var core []int
	for _, s := range left {
		core = append(core, s.put, s.take)
	}
	d.violated("order", core...)
	return nil, false
}

// event is an operation of an order that is put together.
type event struct {
	at   int64
	op   int
	put  bool
	span span
}

// built puts an order together: the value that went last first, each below those that are there. At an instant that a
// value needs at the bottom, the others that are in are popped before or pushed after: none of them is surely in.
func (d *distinct) built(gone []bottom, free []int64) (order []int) {
	var list []event
	at := func(when int64, e event) {
		n, _ := slices.BinarySearchFunc(list, when, func(e event, at int64) int { // behind all of the instant
			if e.at <= at {
				return -1
			}
			return 1
		})
		var in []event
		for _, x := range list[:n] {
			if x.put {
				in = append(in, x)
			} else if x.span.take >= 0 { // what found nothing takes nothing
				in = in[:len(in)-1]
			}
		}
		var before, after []event
		moved := map[int]bool{}
		for _, x := range in {
			switch {
			case x.op == e.span.put: // it is its own pop that comes
			case x.span.takeCall <= when:
				before = append(before, event{when, x.span.take, false, x.span})
				moved[x.span.take] = true
			default:
				after = append(after, event{when, x.op, true, x.span})
				moved[x.op] = true
			}
		}
		slices.Reverse(before)
		keep := func(part []event) []event {
			return slices.DeleteFunc(slices.Clone(part), func(x event) bool { return moved[x.op] })
		}
		list = slices.Concat(keep(list[:n]), before, []event{e}, after, keep(list[n:]))
	}
	for _, b := range slices.Backward(gone) {
		at(b.push, event{b.push, b.put, true, b.span})
		if b.take >= 0 {
			at(b.pop, event{b.pop, b.take, false, b.span})
		}
	}
	for i, e := range d.empty {
		at(free[i], event{free[i], e, false, span{put: -1, take: -1}})
	}
	for _, e := range list {
		order = append(order, e.op)
	}
	return order
}

// allStuck reports whether some values are left of these in the end.
func allStuck(left []span) bool {
	for len(left) > 0 {
		rest, _ := stuck(left)
		if len(rest) == len(left) {
			return true
		}
		left = rest
	}
	return false
}

// stuck are the values that cannot lie at the bottom beside the others, and those that can.
func stuck(left []span) (rest []span, gone []bottom) {
	free := stretches(left)
	for v, s := range left {
		push, ok := fits(free, v, s.putCall, s.putRet)
		pop := int64(never)
		if ok && s.take >= 0 {
			pop, ok = fits(free, v, max(s.takeCall, push), s.takeRt)
		}
		if ok {
			gone = append(gone, bottom{s, push, pop})
		} else {
			rest = append(rest, s)
		}
	}
	return rest, gone
}

// bound is an instant from which, or up to which, a value is surely in.
type bound struct {
	at   int64
	ends bool
	span int
}

// surelyIn are the bounds of all values, in their order.
func surelyIn(left []span) (list []bound) {
	for i, s := range left {
		if s.putRet < s.takeCall {
			list = append(list, bound{s.putRet, false, i}, bound{s.takeCall, true, i})
		}
	}
	slices.SortFunc(list, func(a, b bound) int { // at an instant one may go before the next comes
		if c := cmp.Compare(a.at, b.at); c != 0 || a.ends == b.ends {
			return c
		}
		if a.ends {
			return -1
		}
		return 1
	})
	return list
}

// stretch is a closed stretch of time in which no value is surely in, or one alone: only free for that one.
type stretch struct {
	from, to int64
	but      int // -1: none is in
}

// stretches are those beside the values that are left, in their order.
func stretches(left []span) (free []stretch) {
	in, sum, from := 0, 0, int64(math.MinInt64) // sum is of the places of those that are in: of one, its own
	for _, b := range surelyIn(left) {
		if in <= 1 {
			but := -1
			if in == 1 {
				but = sum
			}
			free = append(free, stretch{from, b.at, but})
		}
		if from = b.at; b.ends {
			in, sum = in-1, sum-b.span
		} else {
			in, sum = in+1, sum+b.span
		}
	}
	free = append(free, stretch{from, never, -1})
	if in == 1 {
		free[len(free)-1].but = sum
	}
	return free
}

// fits finds the first instant between a call and its return that is free for a value.
func fits(free []stretch, v int, call, ret int64) (at int64, ok bool) {
	n, _ := slices.BinarySearchFunc(free, call, func(s stretch, at int64) int {
		if s.to < at {
			return -1
		}
		return 1
	})
	for ; n < len(free) && free[n].from <= ret; n++ {
		if free[n].but < 0 || free[n].but == v {
			return max(call, free[n].from), true
		}
	}
	return 0, false
}
