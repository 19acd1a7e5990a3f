package closure

import (
	"slices"

	"isovet/internal/graph"
)

// PurdomPlus builds the compact closure from all known edges at once.
//
// Source:  Vbox §4.4, Algorithm 1, Purdom+.
// Differs: the printed algorithm is wrong in several lines (errata V21; paper_test.go runs it with and without each
// correction). This one also needs no time edges in either step: by the time lemma (graph.TimeBounds) u reaches x over
// a time edge iff earliest(u) < latest(x). So the paper's d is one number propagated over known edges, and what a time
// edge adds inside u's window is the set of x with a late ancestor, copied a word at a time. Only known edges remain to
// be merged, in reverse topological order, a word at a time.
// Cost:    O(n + m) for the bounds; with w the width of a row, O(w/64) words for each node and for each known edge not
// implied by others met before it.
func PurdomPlus(in Input, opt Options) (*Compact, []Step, error) {
	p, err := prepare(in)
	if err != nil {
		return nil, nil, err
	}
	topo, cycle := p.order()
	if cycle != nil {
		return nil, cycle, nil
	}
	t := p.timeline()
	b := t.bounds()
	if !b.propagate(p, t, topo) {
		return nil, p.timeCycle(topo), nil
	}
	c, err := layOut(p, t, b, opt)
	if err != nil {
		return nil, nil, err
	}
	c.fillByTime(t, b)
	for _, u := range slices.Backward(topo) {
		x := c.rank[u]
		for _, v := range p.known.Succ(u) {
			// If the bit is set, y has been merged already or is reached by time, and so is all that y reaches. Columns
			// have no bits yet, so a straggler is skipped only if it is reached by time.
			if y := c.rank[v]; !c.reaches(x, y) {
				c.join(x, y)
			}
		}
	}
	if c.stragglers > 0 {
		c.fillColumnsByTime(t, b)
		c.fillColumnsByEdges(p, topo)
	}
	return c, nil, nil
}

// join merges row y into row x during construction, where hi(x) ≤ hi(y).
func (c *Compact) join(x, y int32) {
	a, b := c.rows[x], c.rows[y]
	lo, hi := max(a.lo, b.lo), a.hi
	if lo >= hi {
		return
	}
	from, to := int(lo>>6), int((hi-1)>>6)+1
	dst, src := c.bits[a.base+from:a.base+to], c.bits[b.base+from:b.base+to]
	for i, w := range src {
		dst[i] |= w
	}
}

// fillByTime sets, in each row, the bits of nodes reached over a time edge: those whose latest place is not before the
// row's earliest. As earliest decreases, that set only grows. Nodes whose latest is their own place are at or beyond hi
// then and need no bit.
func (c *Compact) fillByTime(t *timeline, b bounds) {
	n := len(t.nodes)
	var delayed, latest []int32
	for v, l := range b.latest {
		if l > t.place[v] && c.rank[v] >= c.stragglers {
			delayed, latest = append(delayed, c.rank[v]), append(latest, l)
		}
	}
	if len(delayed) == 0 {
		return
	}
	lateOff, byLatest := graph.Group(latest, n+1)
	off, byEarliest := graph.Group(b.earliest, n+1)
	set := make([]uint64, (n+63)/64)
	lowest := int32(n) // smallest rank in set
	for h := n; h >= 0; h-- {
		for _, i := range byLatest[lateOff[h]:lateOff[h+1]] {
			x := delayed[i]
			set[x>>6] |= 1 << (uint(x) & 63)
			lowest = min(lowest, x)
		}
		for _, u := range byEarliest[off[h]:off[h+1]] {
			r := c.rows[c.rank[u]]
			lo := max(r.lo, lowest)
			if lo >= r.hi {
				continue
			}
			from, to := int(lo>>6), int((r.hi-1)>>6)+1
			dst := c.bits[r.base+from : r.base+to]
			for i, w := range set[from:to] {
				dst[i] |= w
			}
		}
	}
}

// fillColumnsByEdges records which nodes reach each straggler by known edges, with a mask of stragglers per node.
func (c *Compact) fillColumnsByEdges(p *problem, topo []int32) {
	words := (int(c.stragglers) + 63) / 64
	masks := make([]uint64, words*p.n)
	for _, u := range slices.Backward(topo) {
		mask := masks[int(u)*words : (int(u)+1)*words]
		x := c.rank[u]
		if x < c.stragglers {
			mask[x>>6] |= 1 << (uint(x) & 63)
		}
		for _, v := range p.known.Succ(u) {
			for i, w := range masks[int(v)*words : (int(v)+1)*words] {
				mask[i] |= w
			}
		}
		for i, w := range mask {
			for s := int32(i * 64); w != 0; s, w = s+1, w>>1 {
				if w&1 != 0 {
					c.setColumn(s, x)
				}
			}
		}
	}
}

// fillColumnsByTime records which nodes reach each straggler over a time edge, beyond those that are sure.
func (c *Compact) fillColumnsByTime(t *timeline, b bounds) {
	n := int32(len(c.rows))
	nodes := make([]int32, n)           // rank → node
	late := make([]int32, c.stragglers) // by straggler: latest place
	for v, x := range c.rank {
		nodes[x] = int32(v)
		if x < c.stragglers {
			late[x] = b.latest[v]
		}
	}
	for s := range c.stragglers {
		for x := range c.stragglers {
			if b.earliest[nodes[x]] <= late[s] {
				c.setColumn(s, x)
			}
		}
		// What ends before place late has started before it.
		for x := c.sure[s]; x < n && t.place[nodes[x]] < late[s]; x++ {
			if b.earliest[nodes[x]] <= late[s] {
				c.setColumn(s, x)
			}
		}
	}
}
