package lists

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/level"
)

// Cases enumerates the ways to say, for each element that was appended more than once and read, which append a read
// shows.
//
// All states of a list are prefixes of one another, so the element at a place is the same append in every read. The
// longest read of a list consists of whole transactions' appends, each at most once. Other reads end where a
// transaction's appends end, and no read shows its own transaction's appends among those of others. A search finds all
// ways to split each such list by these rules; the ways for several lists are independent. A case chooses one way for
// each list. It is a history with unique elements. An order explains the history if and only if it explains one of the
// cases.
type Cases struct {
	h    *history.History
	keys []doubled
	base history.History // with a version for each append of a doubled element
	orig []uint32        // new version → the original, from first on
	// first is the lowest of the new versions.
	first uint32
	at    []int // the place of the case at hand, by key
	// Whole says that the cases are complete.
	Whole bool
}

// doubled is a list with an element that was appended more than once and read.
type doubled struct {
	key   uint32
	inits []uint32 // appends of Init, as new versions
	list  []uint32 // the longest, as values
	reads []uint32 // list reads of transactions that did not abort, operations
	// ways are the ways to split the list: each has the blocks in their order.
	ways [][]uint32
	ws   []block
}

// block has the appends of one transaction to a list.
type block struct {
	t          uint32
	vals, vers []uint32
	own        int // the longest list of others that it read
	at         int64
}

var (
	maxWays  = 1 << 12 // ways to take one list apart
	maxSteps = 1 << 18 // steps of the search for them
	// maxBlamed bounds the reads among which takeApart looks for the few that no order explains.
	maxBlamed = 64
)

// ReadCases finds the cases of a history with an ambiguous view. If there are none, reason says why, or shown is an
// anomaly that holds in all cases. Cost: exponential in the doubled elements at worst, bounded.
func ReadCases(h *history.History) (c *Cases, shown *evidence.Anomaly, reason string) {
	c = &Cases{h: h, base: *h, first: uint32(h.NumVersions()), Whole: true}
	times := make([]uint32, h.NumVersions())
	isDoubled := make([]bool, h.NumKeys())
	appends := func(f func(t, op uint32)) {
		for t := range uint32(h.NumTxns()) {
			if h.Txns.Status[t] == history.Aborted {
				continue
			}
			for op := range h.EachOp(t) {
				if h.Ops.Kind[op] == history.Append {
					f(t, op)
				}
			}
		}
	}
	appends(func(_, op uint32) { times[h.Ops.Ver[op]]++ })
	place := make([]int, h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			if h.Ops.Kind[op] != history.ReadList || h.Txns.Status[t] == history.Aborted {
				continue
			}
			k := h.OpKey(op)
			if !isDoubled[k] && slices.ContainsFunc(h.Elems(h.Ops.Ver[op]),
				func(e uint32) bool { return times[e] > 1 }) {
				isDoubled[k] = true
				place[k] = len(c.keys)
				c.keys = append(c.keys, doubled{key: k})
			}
		}
	}
	// Each append of a doubled element gets a version of its own.
	c.base.Ops.Ver = slices.Clone(h.Ops.Ver)
	c.base.VerKey, c.base.VerKind, c.base.VerN = slices.Clone(h.VerKey), slices.Clone(h.VerKind), slices.Clone(h.VerN)
	last := make(map[[2]uint32]int) // transaction and key → its block
	appends(func(t, op uint32) {
		ver := h.Ops.Ver[op]
		k := h.VerKey[ver]
		if !isDoubled[k] {
			return
		}
		own := ver
		if times[ver] > 1 {
			own = c.first + uint32(len(c.orig))
			c.orig = append(c.orig, ver)
			c.base.VerKey = append(c.base.VerKey, k)
			c.base.VerKind = append(c.base.VerKind, h.VerKind[ver])
			c.base.VerN = append(c.base.VerN, h.VerN[ver])
			c.base.Ops.Ver[op] = own
		}
		d := &c.keys[place[k]]
		if t == h.Init {
			d.inits = append(d.inits, own)
			return
		}
		i, ok := last[[2]uint32{t, k}]
		if !ok {
			i = len(d.ws)
			last[[2]uint32{t, k}] = i
			at := h.Commit(t)
			if at == history.NoTime {
				at = h.End(t)
			}
			if at == history.NoTime {
				at = int64(t)
			}
			d.ws = append(d.ws, block{t: t, at: at})
		}
		d.ws[i].vals = append(d.ws[i].vals, ver)
		d.ws[i].vers = append(d.ws[i].vers, own)
	})
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			if h.Ops.Kind[op] != history.ReadList || h.Txns.Status[t] == history.Aborted || !isDoubled[h.OpKey(op)] {
				continue
			}
			if h.Txns.Status[t] != history.Committed {
				return nil, nil, fmt.Sprintf("the outcome of transaction %d, which reads list %s, is unknown",
					h.Txns.ID[t], h.KeyString(h.OpKey(op)))
			}
			d := &c.keys[place[h.OpKey(op)]]
			d.reads = append(d.reads, op)
		}
	}
	for _, d := range slice.Refs(c.keys) {
		if shown := c.takeApart(d); shown != nil {
			return nil, shown, ""
		}
		if len(d.ways) == 0 {
			return nil, nil, fmt.Sprintf("the reads of list %s have too many explanations", h.KeyString(d.key))
		}
	}
	c.at = make([]int, len(c.keys))
	return c, nil, ""
}

// others returns the elements of other transactions that a list read shows.
func others(h *history.History, op uint32) []uint32 {
	lo, _ := h.TxnOps(h.TxnOf(op))
	r := reader{h: h}
	list, _ := r.ownSuffix(h.Elems(h.Ops.Ver[op]), h.OpKey(op), lo, op)
	return list
}

// takeApart finds the ways to split a list, or the anomaly of reads that have none.
func (c *Cases) takeApart(d *doubled) *evidence.Anomaly {
	h := c.h
	sorts.Stable(d.ws, func(a, b block) int { return cmp.Compare(a.at, b.at) })
	longest := d.reads[0]
	for _, op := range d.reads {
		if len(others(h, op)) > len(others(h, longest)) {
			longest = op
		}
	}
	d.list = others(h, longest)
	for _, op := range d.reads {
		if list := others(h, op); !slices.Equal(list, d.list[:len(list)]) {
			return &evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: []uint32{op, longest}}
		}
	}
	ways, whole := c.ways(d, d.reads, d.list, maxWays)
	d.ways = ways
	if !whole {
		c.Whole = false
	}
	if len(ways) > 0 || !whole {
		return nil
	}
	// No appends explain the reads. Find the fewest reads that show it, if there are not too many.
	if len(d.reads) > maxBlamed {
		if ways, whole := c.ways(d, []uint32{longest}, d.list, 1); whole && len(ways) == 0 {
			return c.alone(d, longest)
		}
		return &evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: d.reads}
	}
	for _, op := range d.reads {
		if ways, whole := c.ways(d, []uint32{op}, others(h, op), 1); whole && len(ways) == 0 {
			return c.alone(d, op)
		}
	}
	for i, a := range d.reads {
		for _, b := range d.reads[:i] {
			list := others(h, a)
			if l := others(h, b); len(l) > len(list) {
				list = l
			}
			if ways, whole := c.ways(d, []uint32{a, b}, list, 1); whole && len(ways) == 0 {
				return &evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: []uint32{b, a}}
			}
		}
	}
	return &evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: d.reads}
}

// alone returns the anomaly of a single read that no appends explain.
func (c *Cases) alone(d *doubled, op uint32) *evidence.Anomaly {
	h := c.h
	t := h.TxnOf(op)
	list := others(h, op)
	var left, right int // appends of the element by others, and by the reader
	for _, e := range list {
		same := func(x uint32) bool { return x == e }
		n := slice.Count(list, same)
		left, right = 0, 0
		for _, w := range d.ws {
			for _, v := range w.vals {
				switch {
				case v != e:
				case w.t == t:
					right++
				default:
					left++
				}
			}
		}
		left += slice.Count(d.inits, func(v uint32) bool { return c.Orig(v) == e })
		if left >= n {
			continue
		}
		if total := slice.Count(h.Elems(h.Ops.Ver[op]), same); total > 1 && total > left+right {
			return &evidence.Anomaly{Kind: level.DuplicateElement, Ops: []uint32{op}}
		}
		if left > 0 || n > 1 {
			return &evidence.Anomaly{Kind: level.ThinAirRead, Ops: []uint32{op}}
		}
		if by := (&reader{h: h}).aborted(e); by != none {
			return &evidence.Anomaly{Kind: level.G1a, Ops: []uint32{op, by}}
		}
		_, hi := h.TxnOps(t)
		for own := op; own < hi; own++ {
			if h.Ops.Kind[own] == history.Append && h.Ops.Ver[own] == e {
				return &evidence.Anomaly{Kind: level.FutureRead, Ops: []uint32{op, own}}
			}
		}
		return &evidence.Anomaly{Kind: level.ThinAirRead, Ops: []uint32{op}}
	}
	if len(list) > 0 {
		for _, w := range d.ws {
			if w.t != t && slices.Contains(w.vals, list[len(list)-1]) {
				return &evidence.Anomaly{Kind: level.G1b, Ops: []uint32{op, (&reader{h: h}).appendOf(w.t,
					list[len(list)-1])}}
			}
		}
	}
	return &evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: []uint32{op}}
}

// ways splits a list so that it explains the given reads. It returns at most limit ways; whole says that these are all.
func (c *Cases) ways(d *doubled, reads, list []uint32, limit int) (ways [][]uint32, whole bool) {
	end := c.ends(d, reads, list)
	if end == nil {
		return nil, true
	}
	used := make([]bool, len(d.ws))
	begins := make(map[uint32][]uint32) // element → the blocks that begin with it
	for i, w := range d.ws {
		begins[w.vals[0]] = append(begins[w.vals[0]], uint32(i))
	}
	var way []uint32
	steps := 0
	var try func(at int) bool
	try = func(at int) bool {
		if at == len(list) {
			if len(ways) == limit {
				return false
			}
			ways = append(ways, slices.Clone(way))
			return true
		}
	next:
		for _, i := range begins[list[at]] {
			w := d.ws[i]
			if steps++; steps > maxSteps {
				return false
			}
			to := at + len(w.vals)
			if used[i] || at < w.own || to > len(list) {
				continue
			}
			for j, v := range w.vals {
				if v != list[at+j] || j > 0 && end[at+j] {
					continue next
				}
			}
			used[i], way = true, append(way, i)
			ok := try(to)
			used[i], way = false, way[:len(way)-1]
			if !ok {
				return false
			}
		}
		return true
	}
	whole = try(len(d.inits))
	return ways, whole
}

// ends marks the places of a list where a transaction's appends must end, or returns nil if the list does not begin
// with the initial elements. It also sets, in the blocks of d, the place before which a reader's own appends cannot be.
func (c *Cases) ends(d *doubled, reads, list []uint32) []bool {
	if len(list) < len(d.inits) {
		return nil
	}
	end := make([]bool, len(list)+1)
	end[len(d.inits)], end[len(list)] = true, true
	for i := range d.ws {
		d.ws[i].own = 0
	}
	for _, op := range reads {
		n := len(others(c.h, op))
		if n < len(d.inits) {
			return nil
		}
		end[n] = true
		t := c.h.TxnOf(op)
		for i := range d.ws {
			if d.ws[i].t == t {
				d.ws[i].own = max(d.ws[i].own, n)
			}
		}
	}
	for i, v := range d.inits {
		if c.Orig(v) != list[i] {
			return nil
		}
	}
	return end
}

// Orig returns the version of the history for a version of a case.
func (c *Cases) Orig(v uint32) uint32 {
	if v != none && v >= c.first {
		return c.orig[v-c.first]
	}
	return v
}

// History returns the history of the current case, in which repeated appends have different versions.
func (c *Cases) History() *history.History {
	out := c.base
	h := c.h
	out.Lists.Elem = slices.Clone(h.Lists.Elem)
	for i, d := range slice.Refs(c.keys) {
		list := slices.Clone(d.inits)
		for _, w := range d.ways[c.at[i]] {
			list = append(list, d.ws[w].vers...)
		}
		for _, op := range d.reads {
			at := h.Lists.Off[h.Ops.Ver[op]]
			n := uint32(len(others(h, op)))
			copy(out.Lists.Elem[at:at+n], list)
			at += n
			lo, _ := h.TxnOps(h.TxnOf(op))
			for q := lo; q < op; q++ {
				if h.Ops.Kind[q] == history.Append && h.OpKey(q) == d.key {
					out.Lists.Elem[at] = c.base.Ops.Ver[q]
					at++
				}
			}
		}
	}
	return &out
}

// Next moves to the next case, or returns false if there is none.
func (c *Cases) Next() bool {
	for i := range c.at {
		if c.at[i]++; c.at[i] < len(c.keys[i].ways) {
			return true
		}
		c.at[i] = 0
	}
	return false
}

// More reports whether there are cases other than the current one, or may be.
func (c *Cases) More() bool {
	return !c.Whole || slices.ContainsFunc(c.keys, func(d doubled) bool { return len(d.ways) > 1 })
}

// Back translates a cycle of a case to the history's versions.
func (c *Cases) Back(cycle []evidence.Edge) []evidence.Edge {
	out := slices.Clone(cycle)
	for i := range out {
		out[i].Ver = c.Orig(out[i].Ver)
	}
	return out
}

// Shows reports whether a view shows each edge of a cycle without assumption.
func (v *View) Shows(cycle []evidence.Edge) bool {
	for _, e := range cycle {
		if e.Dep == evidence.SO || e.Dep == evidence.RT {
			continue
		}
		if e.Key == none || !v.IsList[e.Key] || len(v.Anomalies) > 0 || !v.Counts[e.From] || !v.Counts[e.To] {
			return false
		}
		w, r := v.write(e.To, e.Key), none
		switch e.Dep {
		case evidence.WW:
			a, ok := v.place(e.From, e.Key)
			if b, also := v.place(e.To, e.Key); !ok || !also || a >= b {
				return false
			}
		case evidence.WR:
			r, w = v.read(e.To, e.Key), v.write(e.From, e.Key)
			if r == none || w == none || v.WPos[w] >= v.RSeen[r] {
				return false
			}
		case evidence.RW:
			if r = v.read(e.From, e.Key); r == none || w == none || v.WPos[w] < v.RSeen[r] {
				return false
			}
		default:
			return false
		}
	}
	return true
}
