package closure

import (
	"slices"

	"isovet/internal/graph"
)

// Compact is the compact transitive closure: it stores bits only for pairs that windows alone do not decide. The
// package comment explains rows, ranks and stragglers.
//
// Source:  Vbox §4.4, arrays R, L, O: bits, row.lo, row.base.
// Differs: bits for bytes; lo and hi come from the time lemma rather than from the overlap of single windows, so rows
// are never wider and mostly narrower; when edges are added hi shrinks, where the paper writes ones to the end of the
// row.
type Compact struct {
	rank       []int32 // node → rank: stragglers first, then by start
	rows       []row   // by rank
	bits       []uint64
	stragglers int32 // ranks below are stragglers

	// The columns of stragglers: u reaches straggler s iff u is no straggler and u < sure[s], or bit u of column s is
	// set.
	columns int     // index in bits of the first column
	width   int     // words a column
	sure    []int32 // grows with added edges
	reachHi []int32 // by rank: largest initial hi of the non-stragglers up to it; nil without stragglers

	list  edgeList
	trail []change
	paths pathFinder
}

// row is the window of ranks whose reachability from a node is stored; the bit of rank x is at bits[base + x/64].
//
// Invariant: ranks x ≥ hi are reached; a rank x < lo is reached only if x is a straggler whose column says so;
// stragglers ≤ lo ≤ hi ≤ n. Bits of the row's words outside [lo, hi) mean nothing.
type row struct {
	lo, hi int32
	base   int
}

// words returns the number of words that layOut gives the row.
func (r row) words() int {
	if r.hi <= r.lo {
		return 0
	}
	return int((r.hi-1)>>6 - r.lo>>6 + 1)
}

var _ Dynamic = (*Compact)(nil)

// Reaches implements [Index].
//
// Cost: a row and one of its words, only the row outside its window. A variant without branches took half as long
// again, since it always waits for the word.
func (c *Compact) Reaches(u, v int32) bool { return c.reaches(c.rank[u], c.rank[v]) }

// reaches is Reaches for ranks.
func (c *Compact) reaches(x, y int32) bool {
	r := c.rows[x]
	if y >= r.hi {
		return true
	}
	if y < r.lo {
		return y < c.stragglers && c.inColumn(x, y)
	}
	return c.bits[r.base+int(y>>6)]>>(uint(y)&63)&1 != 0
}

// inColumn reports whether the node of rank x reaches straggler s.
func (c *Compact) inColumn(x, s int32) bool {
	if x >= c.stragglers && x < c.sure[s] {
		return true
	}
	return c.bits[c.columns+int(s)*c.width+int(x>>6)]>>(uint(x)&63)&1 != 0
}

// Mark implements [Dynamic].
func (c *Compact) Mark() int { return len(c.list.edges) }

// Undo implements [Dynamic]. Cost: O(words changed since the mark).
func (c *Compact) Undo(mark int) {
	to := c.list.pop(mark)
	if to < 0 {
		return
	}
	n := len(c.rows)
	for i := len(c.trail) - 1; i >= to; i-- {
		t := c.trail[i]
		switch place := -1 - t.at; {
		case t.at >= 0:
			c.bits[t.at] = t.old
		case place < n:
			c.rows[place].hi = int32(t.old)
		default:
			c.sure[place-n] = int32(t.old)
		}
	}
	c.trail = c.trail[:to]
}

// Settle implements [Dynamic].
func (c *Compact) Settle() { c.list.floor, c.trail = len(c.list.edges), nil }

// Path implements [Dynamic].
func (c *Compact) Path(u, v int32, cost func(tag int32) int8) ([]Step, bool) {
	return c.paths.find(c, u, v, cost)
}

// timeline is real-time order on places 0 … n−1, the nodes sorted by start. After it is built, only places are
// compared, not times: due[v] is the first place that starts after v ends.
type timeline struct {
	nodes []int32 // place → node
	place []int32 // node → place
	due   []int32 // node → place, n if nothing starts later
}

func (p *problem) timeline() *timeline {
	n := int32(p.n)
	t := &timeline{nodes: graph.SortIndex(p.start), place: make([]int32, n), due: make([]int32, n)}
	sorted := make([]int64, n)
	for i, v := range t.nodes {
		t.place[v] = int32(i)
		sorted[i] = p.start[v]
	}
	for i, v := range t.nodes {
		// Few transactions start while one runs, so the answer is near: gallop, then bisect. A window that ends before
		// it starts gets its own place as due; propagate then reports that as a cycle, which it is.
		end := p.due[v]
		lo, hi, step := int32(i), int32(i), int32(1) // all places below lo start no later than end, or are below i
		for hi < n && sorted[hi] <= end {
			lo, hi, step = hi+1, hi+step, step*2
		}
		hi = min(hi, n)
		for lo < hi {
			if mid := int32(uint32(lo+hi) >> 1); sorted[mid] <= end {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		t.due[v] = lo
	}
	return t
}

// bounds has, by node, the two numbers of the time lemma, as places.
type bounds struct {
	latest   []int32 // last place among what reaches the node by known edges, itself included
	earliest []int32 // least due among what the node reaches by known edges, itself included
}

// bounds returns the bounds of a graph without edges.
func (t *timeline) bounds() bounds { return bounds{slices.Clone(t.place), slices.Clone(t.due)} }

// propagate updates the bounds for the known edges; it reports whether these and real-time order are acyclic together.
func (b bounds) propagate(p *problem, t *timeline, topo []int32) bool {
	for _, u := range topo {
		m := b.latest[u]
		if m >= t.due[u] {
			return false
		}
		for _, v := range p.known.Succ(u) {
			b.latest[v] = max(b.latest[v], m)
		}
	}
	for _, u := range slices.Backward(topo) {
		m := b.earliest[u]
		for _, v := range p.known.Succ(u) {
			m = min(m, b.earliest[v])
		}
		b.earliest[u] = m
	}
	return true
}

// layOut makes a closure whose rows have the right windows and all bits zero.
func layOut(p *problem, t *timeline, b bounds, opt Options) (*Compact, error) {
	n := p.n
	l := chooseStragglers(t, b, opt.Stragglers)
	c := &Compact{stragglers: int32(l.count), width: (n + 63) / 64}
	if l.count == 0 {
		c.width = 0
	}
	c.columns = l.rowWords
	if err := checkSize(8*int64(l.rowWords+l.count*c.width)+20*int64(n), opt); err != nil {
		return nil, err
	}
	c.rank = t.place
	if l.count > 0 {
		c.rank = make([]int32, n)
		next := int32(0)
		other := c.stragglers
		for i, v := range t.nodes {
			if l.straggler[i] {
				c.rank[v] = next
				next++
			} else {
				c.rank[v] = other
				other++
			}
		}
	}
	c.rows = make([]row, n)
	for v, x := range c.rank {
		c.rows[x] = row{lo: l.first[b.latest[v]], hi: l.rank[b.earliest[v]]}
	}
	at := 0
	for x := range c.rows {
		r := &c.rows[x]
		r.base = at - int(r.lo>>6)
		at += r.words()
	}
	if at != l.rowWords {
		panic("closure: rows do not take the words that were counted")
	}
	c.bits = make([]uint64, l.rowWords+l.count*c.width)
	if l.count > 0 {
		c.sure = make([]int32, l.count)
		c.reachHi = make([]int32, n)
		high := int32(0)
		for x := c.stragglers; x < int32(n); x++ {
			high = max(high, c.rows[x].hi)
			c.reachHi[x] = high
		}
		for v, x := range c.rank {
			if x < c.stragglers {
				c.sure[x] = l.first[b.latest[v]]
				c.setColumn(x, x)
			}
		}
	}
	for x := c.stragglers; x < int32(n); x++ {
		c.bits[c.rows[x].base+int(x>>6)] |= 1 << (uint(x) & 63)
	}
	c.paths = pathFinder{p: p, list: &c.list}
	return c, nil
}

// setColumn records, without the trail that Undo needs, that rank x reaches straggler s.
func (c *Compact) setColumn(s, x int32) {
	c.bits[c.columns+int(s)*c.width+int(x>>6)] |= 1 << (uint(x) & 63)
}
