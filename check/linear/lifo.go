package linear

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"isovet/evidence"
	"isovet/internal/ddmin"
)

// maxStackTries bounds the tries to make a core smaller, maxAssigned the values looked at to assign pops, and maxBlock
// the operations of an order that move to make room for another.
const maxStackTries, maxAssigned, maxBlock = 500, 400_000, 1024

// lifo decides stacks of distinct values. With pops of unknown outcome it decides only some that are linearizable.
//
// Source: Lee and Mathur, "Efficient decrease-and-conquer linearizability monitoring" (arXiv 2410.04581), stacks: it
// repeatedly removes values that can lie at the bottom. Differs: it builds an order from the order of removals. Cost:
// O(n log n), but for moving some operations of the order; quadratic with pops of unknown outcome.
func lifo(stop func() bool, ops []Op) (Answer, bool) {
	d, ok := spansOf(ops, "push")
	if !ok || len(d.unknown) > 0 && d.bad == nil && !d.assign(stop) {
		return Answer{}, false
	}
	if d.bad != nil {
		return *d.bad, true
	}
	free := d.covered()
	if d.bad != nil {
		return *d.bad, true
	}
	deep, flat := d.depths()
	gone, left := peel(deep)
	if len(left) > 0 {
		d.violated("order", d.core(stop, left)...)
		return *d.bad, true
	}
	return Answer{Verdict: evidence.Holds, Order: d.built(gone, flat, free)}, true
}

// depths returns the values that are surely in at some time, and those that need not be under another.
func (d *distinct) depths() (deep, flat []span) {
	for _, s := range d.spans {
		switch {
		case s.take < 0 && s.putRet == never:
		case s.putRet < s.takeCall:
			deep = append(deep, s)
		default:
			flat = append(flat, s)
		}
	}
	return deep, flat
}

// assign gives pops of unknown outcome to values that no other pop took, and reports whether an order exists then. Such
// a pop can wait until just before an operation for which a value must be gone. First come the values that are surely
// above one popped later, or in while nothing is found. Then, as long as values are left, the one of these pushed last
// gets the pop called first.
func (d *distinct) assign(stop func() bool) bool {
	byCall := func(a, b int) int { return cmp.Compare(d.ops[a].Call, d.ops[b].Call) }
	pops := slices.SortedFunc(slices.Values(d.unknown), byCall)
	give := func(s *span, by int64) bool { // the last one called by then, for the one that it has
		n := sort.Search(len(pops), func(i int) bool { return d.ops[pops[i]].Call > by })
		if n == 0 {
			return false
		}
		was := s.take
		s.take, s.takeCall = pops[n-1], d.ops[pops[n-1]].Call
		if pops = slices.Delete(pops, n-1, n); was >= 0 {
			pops = append(pops, was)
			slices.SortFunc(pops, byCall)
		}
		return true
	}
	type deadline struct {
		s  *span
		by int64
	}
	due, pairs := []deadline(nil), 0
	for i := range d.spans {
		s, by := &d.spans[i], int64(never)
		if s.take >= 0 {
			continue
		}
		if pairs += len(d.spans) + len(d.empty); pairs > 500*maxAssigned {
			return false
		}
		for _, under := range d.spans {
			if under.putRet < s.putCall && s.putRet < under.takeCall {
				by = min(by, under.takeRt)
			}
		}
		for _, e := range d.empty {
			if s.putRet < d.ops[e].Call {
				by = min(by, d.ops[e].Return)
			}
		}
		if by < never {
			due = append(due, deadline{s, by})
		}
	}
	slices.SortFunc(due, func(a, b deadline) int { return cmp.Compare(a.by, b.by) })
	for _, x := range due {
		if !give(x.s, x.by) {
			return false
		}
	}
	for work := 0; work < maxAssigned && !stop(); work += len(d.spans) {
		stuck := make([]bool, len(d.ops)) // pushes
		if d.covered(); d.bad != nil {
			mark(stuck, d.bad.Core, true)
			d.bad = nil
		} else {
			deep, _ := d.depths()
			_, left := peel(deep)
			if len(left) == 0 {
				return true
			}
			for _, s := range left {
				stuck[s.put] = true
			}
		}
		var last *span
		for i := range d.spans {
			if s := &d.spans[i]; stuck[s.put] && s.takeRt == never && len(pops) > 0 &&
				d.ops[pops[0]].Call < s.takeCall && (last == nil || last.putCall < s.putCall) {
				last = s
			}
		}
		if last == nil || !give(last, d.ops[pops[0]].Call) {
			return false
		}
	}
	return false
}

// core returns the operations of a few values that peel cannot remove, from such values.
func (d *distinct) core(stop func() bool, left []span) (core []int) {
	gone := make([]bool, len(left))
	rest := func() (list []span) {
		for i, s := range left {
			if !gone[i] {
				list = append(list, s)
			}
		}
		return list
	}
	tries := 0
	ddmin.Sweep(len(left), func(i int) bool { return !gone[i] }, func(run []int) bool {
		tries++
		mark(gone, run, true)
		if _, still := peel(rest()); len(still) > 0 {
			return true
		}
		mark(gone, run, false)
		return false
	}, func() bool { return tries > maxStackTries || stop() })
	for _, s := range rest() {
		core = append(core, s.put, s.take)
	}
	return core
}

// bottom is a value that can lie at the bottom of the stack, with the instants of its push and pop.
type bottom struct {
	span
	at [2]int64
}

// peel removes values that can lie at the bottom: their push and their pop each have an instant at which no other value
// left is surely in. If values are left in the end, they have no order, whatever other operations did.
func peel(values []span) (gone []bottom, left []span) {
	p := newPeeling(values)
	for p.free(1, 0); len(p.ready) > 0; p.free(1, 0) {
		v := p.ready[0]
		p.ready = p.ready[1:]
		gone = append(gone, p.values[v])
		p.add(1, p.within[v], -1)
		p.out[v] = true
	}
	for v := range values {
		if !p.out[v] {
			left = append(left, values[v])
		}
	}
	return gone, left
}

// peeling counts the values that are surely in, for each stretch of time between two instants at which one comes or
// goes. The counts are a tree over the stretches, in which node i has the children 2i and 2i+1.
type peeling struct {
	values []bottom
	bounds []int64  // of the stretches
	within [][2]int // value → its first stretch and the one after its last
	size   int      // leaves
	// common[i] is a count that all stretches below node i share; least[i] is the least total of one, with the share.
	common, least []int
	// waiting[i] are pushes (2v) and pops (2v+1) of values v that could happen in any stretch below node i.
	waiting [][]int
	needs   []int // value → how many of its two instants are missing
	ready   []int
	out     []bool
}

// taken exceeds any count: it marks a stretch that has been found free.
const taken = math.MaxInt / 2

func newPeeling(values []span) *peeling {
	type bound struct {
		at      int64
		side, v int // 0: begin, 1: end
	}
	n := len(values)
	p := &peeling{values: make([]bottom, n), within: make([][2]int, n), needs: make([]int, n), out: make([]bool, n)}
	var list []bound
	for v, s := range values {
		list = append(list, bound{s.putRet, 0, v}, bound{s.takeCall, 1, v})
	}
	slices.SortFunc(list, func(a, b bound) int { // at one instant, ends come before begins
		return cmp.Or(cmp.Compare(a.at, b.at), b.side-a.side)
	})
	for i, b := range list {
		p.bounds = append(p.bounds, b.at)
		p.within[b.v][b.side] = i + 1
	}
	for p.size = 1; p.size < len(list)+1; p.size *= 2 {
	}
	p.common, p.least = make([]int, 2*p.size), make([]int, 2*p.size)
	p.waiting = make([][]int, 2*p.size)
	for v, s := range values {
		p.values[v] = bottom{s, [2]int64{never, never}}
		p.add(1, p.within[v], 1)
		p.waits(2*v, s.putCall, s.putRet)
		if s.takeRt != never {
			p.waits(2*v+1, s.takeCall, s.takeRt)
		}
	}
	if end := len(list) + 1; end < p.size {
		p.add(1, [2]int{end, p.size}, taken)
	}
	return p
}

// waits registers a push or pop as waiting for a free instant between its call and its return.
func (p *peeling) waits(which int, call, ret int64) {
	p.needs[which/2]++
	from := sort.Search(len(p.bounds), func(i int) bool { return p.bounds[i] >= call })
	to := sort.Search(len(p.bounds), func(i int) bool { return p.bounds[i] > ret })
	for l, r := from+p.size, to+1+p.size; l < r; l, r = l/2, r/2 {
		if l%2 == 1 {
			p.waiting[l] = append(p.waiting[l], which)
			l++
		}
		if r%2 == 1 {
			r--
			p.waiting[r] = append(p.waiting[r], which)
		}
	}
}

// add adds n to the counts of the stretches to[0]:to[1] below a node.
func (p *peeling) add(node int, to [2]int, n int) {
	first, width := node, 1
	for first < p.size {
		first, width = 2*first, 2*width
	}
	first -= p.size
	switch {
	case to[1] <= first || first+width <= to[0]:
		return
	case to[0] <= first && first+width <= to[1]:
		p.common[node] += n
		p.least[node] += n
		return
	}
	p.add(2*node, to, n)
	p.add(2*node+1, to, n)
	p.least[node] = p.common[node] + min(p.least[2*node], p.least[2*node+1])
}

// free gives stretches below a node in which no value is surely in to the pushes and pops that wait for one. above is
// the number of values that are surely in above the node.
func (p *peeling) free(node, above int) {
	if above+p.least[node] > 0 {
		return
	}
	if node < p.size {
		above += p.common[node]
		p.free(2*node, above)
		p.free(2*node+1, above)
		p.least[node] = p.common[node] + min(p.least[2*node], p.least[2*node+1])
		return
	}
	p.common[node] += taken
	p.least[node] += taken
	from := int64(math.MinInt64)
	if stretch := node - p.size; stretch > 0 {
		from = p.bounds[stretch-1]
	}
	for n := node; n > 0; n /= 2 {
		for _, which := range p.waiting[n] {
			b := &p.values[which/2]
			if b.at[which%2] != never {
				continue // it has one
			}
			b.at[which%2] = max(from, b.putCall)
			if which%2 == 1 {
				b.at[1] = max(from, b.takeCall)
			}
			if p.needs[which/2]--; p.needs[which/2] == 0 {
				p.ready = append(p.ready, which/2)
			}
		}
		p.waiting[n] = nil
	}
}

// event is an operation of the order that built builds.
type event struct {
	at int64
	op int // -1: no operation, because the value is never popped
}

// built builds an order. It inserts each removed value, in the order of removal, around the time in which it is surely
// in; the operations already there are of values below it. Values that can be popped as soon as they are pushed come
// last.
func (d *distinct) built(gone []bottom, flat []span, free []int64) (order []int) {
	var list []event
	for i, e := range d.empty {
		list = append(list, event{free[i], e})
	}
	slices.SortStableFunc(list, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	blocks := [][]event{list} // of the order, none of them long
	for _, b := range gone {
		k := sort.Search(len(blocks)-1, func(k int) bool { return blocks[k+1][0].at > b.putRet })
		list := blocks[k]
		n := sort.Search(len(list), func(i int) bool { return list[i].at > b.putRet })
		push, pop := b.at[0], b.at[1]
		if n > 0 {
			push = max(push, list[n-1].at)
		}
		if n < len(list) {
			pop = min(pop, list[n].at)
		} else if k+1 < len(blocks) {
			pop = min(pop, blocks[k+1][0].at)
		}
		if list = slices.Insert(list, n, event{push, b.put}, event{pop, b.take}); len(list) > maxBlock {
			blocks = slices.Insert(blocks, k+1, slices.Clone(list[maxBlock/2:]))
			list = list[:maxBlock/2]
		}
		blocks[k] = list
	}
	list = slices.Concat(blocks...)
	slices.SortFunc(flat, func(a, b span) int { return cmp.Compare(a.flatAt(), b.flatAt()) })
	for _, e := range list {
		for len(flat) > 0 && flat[0].flatAt() < e.at {
			order = append(order, flat[0].put, flat[0].take)
			flat = flat[1:]
		}
		if e.op >= 0 {
			order = append(order, e.op)
		}
	}
	for _, s := range flat {
		order = append(order, s.put, s.take)
	}
	return order
}

// flatAt returns an instant at which a value can be both pushed and popped.
func (s *span) flatAt() int64 { return max(s.putCall, s.takeCall) }
