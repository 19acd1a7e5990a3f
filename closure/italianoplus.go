package closure

// ItalianoPlus builds the compact closure by adding the known edges one by one to real-time order. The known edges are
// settled: they have no tag and cannot be undone. Rows are as wide as real time alone makes them, so they take more
// memory than those of [PurdomPlus].
//
// Source: Vbox §4.4 and §5.4, Italiano+; see [Compact.AddEdge].
func ItalianoPlus(in Input, opt Options) (*Compact, []Step, error) {
	p, topo, cycle, err := ordered(in)
	if err != nil || cycle != nil {
		return nil, cycle, err
	}
	t := p.timeline()
	b := t.bounds()
	c, err := layOut(p, t, b, opt)
	if err != nil {
		return nil, nil, err
	}
	if c.stragglers > 0 {
		c.fillColumnsByTime(t, b)
	}
	for i := len(topo) - 1; i >= 0; i-- {
		u := topo[i]
		for _, v := range p.known.Succ(u) {
			if x, y := c.rank[u], c.rank[v]; !c.reaches(x, y) {
				c.insert(x, y)
				c.trail = c.trail[:0]
			}
		}
	}
	c.trail = nil
	return c, nil, nil
}

// AddEdge implements [Dynamic].
//
// Source:  Vbox §4.4, Lemmas 4.3 and 4.4, Italiano+.
// Differs: Lemma 4.3 as printed misses rows (errata V23); the candidates for u are l_j ≤ u ≤ min(r_i, r_j), here lo(j)
// ≤ u < min(hi(i), hi(j)), which is within it. The candidates for v (Lemma 4.4, correct as printed, errata V24) are not
// listed: row j is merged into row u by words, over the part that both rows have, and hi(u) falls to hi(j). Undo is
// ours: the paper has none (V25).
// Cost:    with w the width of a row, O(w) to find the rows, O(w/64) for each; with B stragglers O(B) more, and O(n)
// for an edge from one straggler to another.
func (c *Compact) AddEdge(u, v, tag int32) (changed, cycle bool) {
	i, j := c.rank[u], c.rank[v]
	if i == j || c.reaches(j, i) {
		return false, true
	}
	c.list.push(len(c.rank), u, v, tag, len(c.trail))
	if c.reaches(i, j) {
		return false, false
	}
	c.insert(i, j)
	return true, false
}

// insert adds the edge i→j, given in ranks; neither reaches the other yet.
func (c *Compact) insert(i, j int32) {
	// Below from, every non-straggler reaches j already (Lemma 4.3). From to on, it is reached by i or j.
	from, to := c.sureBelow(j), min(c.rows[i].hi, c.rows[j].hi)
	if j < c.stragglers {
		// What j reaches and is no straggler has rank at least sureBelow(i), or it would precede i. So rows that end
		// below that gain nothing.
		gain := c.sureBelow(i)
		lo, hi := from, to
		for lo < hi {
			if mid := int32(uint32(lo+hi) >> 1); c.reachHi[mid] > gain {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		from = lo
	}
	for u := from; u < to; u++ {
		if c.reaches(u, i) && !c.reaches(u, j) {
			c.merge(u, j)
		}
	}
	if c.stragglers == 0 {
		return
	}
	for s := range c.stragglers {
		if c.reaches(s, i) && !c.reaches(s, j) {
			c.merge(s, j)
		}
	}
	// Columns last: the tests above and below still read those of i and j.
	for s := range c.stragglers {
		if c.reaches(j, s) && !c.reaches(i, s) {
			c.extendColumn(s, i)
		}
	}
}

// sureBelow returns a rank below which every non-straggler precedes the node of rank x in real time.
func (c *Compact) sureBelow(x int32) int32 {
	if x < c.stragglers {
		return c.sure[x]
	}
	return c.rows[x].lo
}

// merge makes u reach what j reaches, except for what only columns say.
func (c *Compact) merge(u, j int32) {
	ru, rj := &c.rows[u], c.rows[j]
	if rj.hi < ru.hi {
		c.trail = append(c.trail, change{-1 - int(u), uint64(ru.hi)})
		ru.hi = rj.hi
	}
	lo, hi := max(ru.lo, rj.lo), ru.hi
	if lo >= hi {
		return
	}
	from, to := int(lo>>6), int((hi-1)>>6)+1
	src := c.bits[rj.base+from : rj.base+to]
	at := ru.base + from
	dst := c.bits[at : ru.base+to]
	for k, w := range src {
		if old := dst[k]; old|w != old {
			c.trail = append(c.trail, change{at + k, old})
			dst[k] = old | w
		}
	}
}

// extendColumn makes everything that reaches i reach straggler s.
func (c *Compact) extendColumn(s, i int32) {
	if below := c.sureBelow(i); below > c.sure[s] {
		c.trail = append(c.trail, change{-1 - len(c.rows) - int(s), uint64(c.sure[s])})
		c.sure[s] = below
	}
	column := c.columns + int(s)*c.width
	add := func(word int, bits uint64) {
		if old := c.bits[column+word]; old|bits != old {
			c.trail = append(c.trail, change{column + word, old})
			c.bits[column+word] = old | bits
		}
	}
	for u := range c.stragglers {
		if c.reaches(u, i) {
			add(int(u>>6), 1<<(uint(u)&63))
		}
	}
	from, to := c.sure[s], c.rows[i].hi
	if i >= c.stragglers {
		for u := from; u < to; u++ {
			if c.reaches(u, i) {
				add(int(u>>6), 1<<(uint(u)&63))
			}
		}
		return
	}
	// Column i leaves out bits of non-stragglers below sure(i), but these are below sure(s) by now. The bits it has are
	// true.
	if from < to {
		other := c.columns + int(i)*c.width
		for w := int(from >> 6); w <= int((to-1)>>6); w++ {
			if bits := c.bits[other+w]; bits != 0 {
				add(w, bits)
			}
		}
	}
}
