package replay

import (
	"slices"

	"isovet/internal/graph"
)

// A round replays only the keys of moved nodes if at most one node in fewMoved moved since the last replay. The tables
// for this cost as much as some replays, so they are built in round laterRounds at the earliest.
var fewMoved, laterRounds = 16, 6

// manyOpen: if more than one read per manyOpen transactions has several possible writers left, each round builds a new
// order that agrees with the solver's choices for these reads. Else later rounds continue from the theory's order: a
// new one costs as much as ten replays, and breaks about as many reads as it mends.
const manyOpen = 2

// round replaces the failures of the previous order by those of the current one. If nothing fails, order is the current
// order, replayed as a whole.
func (e *engine) round(failed *[]failure) (order []int32, err error) {
	before := len(*failed)
	*failed = (*failed)[:0]
	if e.again != nil {
		if moved, ok := e.pk.Moved(); ok {
			if *failed, ok = e.again.replay(moved, e.ord.Pos, *failed); ok && len(*failed) > 0 {
				e.stats.Again++
				e.pk.Track(e.total / fewMoved)
				return nil, nil
			}
		}
		e.again, e.againFrom = nil, 2*e.stats.Rounds // do not try in each round
		e.pk.Track(0)
		*failed = (*failed)[:0]
	}
	order = e.ord.Topological()
	if e.settling != nil && (e.stats.Rounds == 1 || len(e.v.Amb) > len(e.txn)/manyOpen) {
		if order = e.agree(); len(order) < e.total {
			return nil, errStuck
		}
		e.pk.Arrange(order)
	}
	switch {
	case e.preds != nil:
		*failed = e.preds.replay(order, e.counted, *failed)
		return order, nil
	case e.failed != nil:
		*failed, e.failed = e.failed, nil
	default:
		*failed = e.replay(order, e.counted, *failed)
	}
	if e.stats.Rounds >= max(laterRounds, e.againFrom) && before <= e.total/fewMoved && len(*failed) > 0 &&
		e.settling == nil && len(e.v.Open)+len(e.v.Amb) == 0 {
		e.again = e.newAgain(order)
		e.pk.Track(e.total / fewMoved)
	}
	return order, nil
}

// again replays only what changed. For each key of a moved node, that is its accesses between the first and the last
// old or new place of these nodes. All other reads find the same write as before. They include no earlier failure,
// because the new order obeys the constraint that each failure made.
//
// It helps if many rounds find a few failures each: the last 340 of 363 rounds of YCSB A, 50,000 transactions run at
// snapshot isolation without times, find one to twenty each.
type again struct {
	e *engine
	// acc has the accesses of key k at off[k]:off[k+1], in the order of the last replay. The external reads of a
	// transaction come before its writes.
	off []uint32
	acc []uint32 // read r of the view is r<<1, write w is w<<1 | 1; the nodes follow from that
	at  []int32  // graph node → its place in that order
	of  []uint32 // the transaction of each eighth read
	// low and high bound the stretch of each key to replay; keys are the keys that have a stretch.
	low, high []int32
	keys      []uint32
	sorted    []placed
}

// placed is an access with the place of its node.
type placed struct {
	at int64 // place<<32 | index before
	op uint32
}

// node returns the graph node of an access.
func (a *again) node(op uint32) int32 {
	e := a.e
	if op&1 != 0 {
		return e.commit(e.node[e.v.WTxn[op>>1]])
	}
	r, off := op>>1, e.v.ROff
	t := a.of[r>>3]
	for off[t+1] <= r {
		t++
	}
	return e.begin(e.node[t])
}

// newAgain lists the accesses in the order of the graph nodes. Cost: linear.
func (e *engine) newAgain(order []int32) *again {
	a := &again{e: e, at: make([]int32, len(order))}
	nk := e.h.NumKeys()
	a.low, a.high = slices.Repeat([]int32{-1}, nk), make([]int32, nk)
	for p, x := range order {
		a.at[x] = int32(p)
	}
	off := e.v.ROff
	a.of = make([]uint32, off[len(off)-1]>>3+1)
	for t := range uint32(len(off) - 1) {
		for r := (off[t] + 7) >> 3; r<<3 < off[t+1]; r++ {
			a.of[r] = t
		}
	}
	by := graph.NewGroups[uint32](nk)
	for _, i := range order {
		a.accesses(i, func(k uint32, _ uint32) { by.Count(k) })
	}
	a.acc = make([]uint32, by.Sum())
	for _, i := range order {
		a.accesses(i, func(k uint32, op uint32) { a.acc[by.Place(k)] = op })
	}
	a.off = by.Off()
	return a
}

// accesses calls f for the reads and writes of a graph node.
func (a *again) accesses(x int32, f func(key uint32, op uint32)) {
	e, v := a.e, a.e.v
	i := e.nodeOf(x)
	if int(i) >= len(e.txn) {
		return
	}
	t := e.txn[i]
	if x == e.begin(i) {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			f(v.RKey[r], r<<1)
		}
	}
	if x == e.commit(i) {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			f(v.WKey[w], w<<1|1)
		}
	}
}

// spread widens the stretch of key k to replay.
func (a *again) spread(k uint32, low, high int32) {
	if a.low[k] < 0 {
		a.low[k], a.high[k] = low, high
		a.keys = append(a.keys, k)
		return
	}
	a.low[k], a.high[k] = min(a.low[k], low), max(a.high[k], high)
}

// replay appends the failures of moved keys; pos gives the new places. If almost everything would have to be replayed,
// ok is false, and a can no longer be used.
func (a *again) replay(moved []int32, pos func(x int32) int32, out []failure) (_ []failure, ok bool) {
	e, v := a.e, a.e.v
	a.keys = a.keys[:0]
	for _, x := range moved {
		i := e.nodeOf(x)
		if int(i) >= len(e.txn) {
			continue
		}
		old, now := a.at[x], pos(x)
		low, high := min(old, now), max(old, now)
		a.accesses(x, func(k uint32, _ uint32) { a.spread(k, low, high) })
		if e.si && x == e.begin(i) { // other writes may now precede or follow its begin
			c := e.commit(i)
			low, high := min(a.at[c], pos(c)), max(a.at[c], pos(c))
			t := e.txn[i]
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				a.spread(v.WKey[w], low, high)
			}
		}
	}
	sum, most := 0, len(a.acc)/2
	for _, k := range a.keys {
		low, high := a.low[k], a.high[k]
		a.low[k] = -1
		in := a.acc[a.off[k]:a.off[k+1]]
		from := a.first(in, low)
		to := from + a.first(in[from:], high+1)
		if sum += to - from; sum > most {
			for _, k := range a.keys {
				a.low[k] = -1
			}
			return out, false
		}
		a.sort(in[from:to], pos)
		out = a.key(k, in, from, to, pos, out)
	}
	for _, x := range moved {
		a.at[x] = pos(x)
	}
	return out, true
}

// first returns the index of the first access whose node was at place p or later in the last replay.
func (a *again) first(in []uint32, p int32) int {
	lo, hi := 0, len(in)
	for lo < hi {
		if m := int(uint(lo+hi) / 2); a.at[a.node(in[m])] < p {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// sort sorts accesses by their new places, stably.
func (a *again) sort(in []uint32, pos func(x int32) int32) {
	s := a.sorted[:0]
	sorted, last := true, int64(-1)
	for j, x := range in {
		p := placed{int64(pos(a.node(x)))<<32 | int64(j), x}
		sorted = sorted && last < p.at
		last = p.at
		s = append(s, p)
	}
	a.sorted = s
	if sorted {
		return
	}
	slices.SortFunc(s, func(x, y placed) int {
		if x.at < y.at {
			return -1
		}
		return 1
	})
	for j := range s {
		in[j] = s[j].op
	}
}

// key replays the accesses of a key from index from, up to the first write at index to or later.
func (a *again) key(k uint32, in []uint32, from, to int, pos func(x int32) int32, out []failure) []failure {
	e, v := a.e, a.e.v
	cur, when := k, int32(0)
	for j := from - 1; j >= 0; j-- {
		if in[j]&1 != 0 {
			cur, when = in[j]>>1, pos(a.node(in[j]))
			break
		}
	}
	for j := from; j < len(in); j++ {
		op := in[j] >> 1
		if in[j]&1 == 0 {
			if w := v.RW[op]; cur != w && (w != none || v.WVer[cur] != v.RVer(op)) {
				out = append(out, failure{op, w, cur})
			}
			continue
		}
		node := a.node(in[j])
		at := pos(node)
		if e.si && when > pos(e.begin(e.nodeOf(node))) {
			out = append(out, failure{none, op, cur})
		}
		if cur, when = op, at; j >= to {
			break
		}
	}
	return out
}
