package replay

import (
	"cmp"
	"slices"

	"isovet/internal/graph"
	"isovet/internal/slice"
)

// scheduler builds an order of the graph nodes that obeys the known edges and in which few reads fail. Mostly one node
// per session may come next. It takes one that overwrites no version with readers to come; among several, the earliest
// by reachability.
type scheduler struct {
	e       *engine
	s       *settling
	g       *graph.CSR
	cur     []uint32 // key → the write that it holds
	pending []int32  // write → its readers still to come, without those that have several candidates
	wanted  []int32  // version → reads still to come with several candidates, all of which have been placed
	to      []int32  // ambiguous read → candidates still to come
	done    []bool   // ambiguous read → it has been placed
	offCand []int32  // write → the ambiguous reads of which it is a candidate
	reads   []int32
	amb     []int32 // read → its place in View.Amb, or -1
	writing []int32 // key → transactions that have begun and will write it (snapshot levels)
}

// agree returns an order that obeys the settled edges, and the guarded edges of the solver's model. Cost: for each
// node, the operations of all nodes that may come next.
func (e *engine) agree() []int32 {
	v, s := e.v, e.settling
	c := &scheduler{e: e, s: s}
	total := s.base.N()
	c.g = graph.BuildFunc(total, func(emit func(u, v int32)) {
		s.edges(emit)
		if e.pk != nil {
			for _, g := range e.pk.Guards() {
				if e.s.Value(g.Lit.Var()) != g.Lit.IsNeg() {
					emit(g.From, g.To)
				}
			}
		}
	})
	c.cur = slice.Numbers[uint32](e.h.NumKeys())
	c.pending = make([]int32, len(v.WKey))
	for w := range c.pending {
		c.pending[w] = int32(e.rdOff[w+1] - e.rdOff[w])
	}
	c.wanted = make([]int32, e.h.NumVersions())
	c.to, c.done = make([]int32, len(v.Amb)), make([]bool, len(v.Amb))
	c.amb = slices.Repeat([]int32{-1}, len(v.RW))
	by := graph.NewGroups[int32](len(v.WKey))
	for _, w := range v.Cand {
		by.Count(int32(w))
	}
	by.Sum()
	c.reads = make([]int32, len(v.Cand))
	for j, q := range v.Amb {
		c.amb[q] = int32(j)
		for _, w := range v.Cand[v.CandOff[j]:v.CandOff[j+1]] {
			c.reads[by.Place(int32(w))] = int32(j)
			if !v.Initial(w) {
				c.to[j]++
			}
		}
		if c.to[j] == 0 {
			c.wanted[v.RVer(q)]++
		}
	}
	c.offCand = by.Off()
	if e.si {
		c.writing = make([]int32, len(c.cur))
	}
	return c.run(total)
}

func (c *scheduler) run(total int) (order []int32) {
	waits := make([]int32, total)
	for _, y := range c.g.Adj {
		waits[y]++
	}
	var ready []int32
	middle := make([]int64, total)
	for x := range int32(total) {
		middle[x] = c.s.reach.Middle(x)
		if waits[x] == 0 {
			ready = append(ready, x)
		}
	}
	order = make([]int32, 0, total)
	for len(ready) > 0 {
		best, least := 0, int32(-1)
		for i, x := range ready {
			cost := c.cost(x)
			if least < 0 || cost < least || cost == least && (middle[x] < middle[ready[best]] ||
				middle[x] == middle[ready[best]] && x < ready[best]) {
				best, least = i, cost
			}
		}
		x := ready[best]
		ready[best] = ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		order = append(order, x)
		c.take(x)
		for _, y := range c.g.Succ(x) {
			if waits[y]--; waits[y] == 0 {
				ready = append(ready, y)
			}
		}
	}
	return order
}

// cost counts the reads that surely fail if x comes next, and those that might succeed if it came later.
func (c *scheduler) cost(x int32) (n int32) {
	e, v := c.e, c.e.v
	i := e.nodeOf(x)
	t := e.txn[i]
	if e.open[i] {
		return 0
	}
	if x == e.begin(i) {
		for q := v.ROff[t]; q < v.ROff[t+1]; q++ {
			if j := c.amb[q]; j >= 0 && c.to[j] > 0 && v.WVer[c.cur[v.RKey[q]]] != v.RVer(q) {
				n++
			}
		}
		if e.si {
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				n += c.writing[v.WKey[w]]
			}
		}
	}
	if x == e.commit(i) {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			k := v.WKey[w]
			u := c.cur[k]
			n += c.pending[u]
			if v.WVer[u] != v.WVer[w] && v.WVer[u] != none {
				n += c.wanted[v.WVer[u]]
			}
			if e.si {
				n += c.writing[k] - 1
			}
		}
		if !e.si { // its own reads do not fail because of its write
			for q := v.ROff[t]; q < v.ROff[t+1]; q++ {
				k := v.RKey[q]
				if !slices.Contains(v.WKey[v.WOff[t]:v.WOff[t+1]], k) {
					continue
				}
				if u := c.cur[k]; v.RW[q] == u {
					n--
				} else if j := c.amb[q]; j >= 0 && c.to[j] == 0 && v.WVer[u] == v.RVer(q) && !c.rewrites(t, k,
					v.WVer[u]) {
					n--
				}
			}
		}
	}
	return n
}

// rewrites reports whether transaction t writes to key k the version ver, which the key has already.
func (c *scheduler) rewrites(t, k, ver uint32) bool {
	v := c.e.v
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		if v.WKey[w] == k {
			return v.WVer[w] == ver
		}
	}
	return false
}

// take places x next.
func (c *scheduler) take(x int32) {
	e, v := c.e, c.e.v
	i := e.nodeOf(x)
	t := e.txn[i]
	if x == e.begin(i) {
		for q := v.ROff[t]; q < v.ROff[t+1]; q++ {
			if w := v.RW[q]; w != none {
				c.pending[w]--
			} else if j := c.amb[q]; j >= 0 {
				c.done[j] = true
				if c.to[j] == 0 {
					c.wanted[v.RVer(q)]--
				}
			}
		}
		if e.si && !e.open[i] {
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				c.writing[v.WKey[w]]++
			}
		}
	}
	if x != e.commit(i) || e.open[i] {
		return
	}
	for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
		k := v.WKey[w]
		c.cur[k] = w
		if e.si {
			c.writing[k]--
		}
		for at := c.offCand[w]; at < c.offCand[w+1]; at++ {
			j := c.reads[at]
			if c.to[j]--; c.to[j] == 0 && !c.done[j] {
				c.wanted[v.RVer(v.Amb[j])]++
			}
		}
	}
}

// likely sorts an ambiguous read's candidates by the order that agree built: first those before the read, latest first,
// then those after it, earliest first. The solver tries a new clause's literals in this order.
func (e *engine) likely(cand []uint32, reader int32) []uint32 {
	if e.settling == nil {
		return cand
	}
	begin := e.ord.Pos(e.begin(reader))
	far := func(w uint32) int32 {
		u := e.writer(w)
		if u < 0 {
			return begin + 1
		}
		if d := begin - e.ord.Pos(e.commit(u)); d > 0 {
			return d
		} else {
			return int32(e.total) - d
		}
	}
	cand = slices.Clone(cand)
	slices.SortStableFunc(cand, func(a, b uint32) int { return cmp.Compare(far(a), far(b)) })
	return cand
}
