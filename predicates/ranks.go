package predicates

import "isovet/history"

// minDerived is from how many rows on ranks are not kept where nearly all values differ.
var minDerived = 1 << 20

// derived reports whether ranks follow from places at little cost: all rows hold something in the column, and few hold
// what another does.
func (c *column) derived() bool {
	rows := len(c.order)
	return rows >= minDerived && c.start[1] == 0 && rows-int(c.ranks()-1) <= rows/64
}

// rankOf returns the rank of an item; None: there is no row. Cost: where ranks are derived, the logarithm of how many
// rows hold what another does.
func (c *column) rankOf(item uint32) uint32 {
	if c.rank != nil {
		return c.rank[item]
	}
	at := c.pos[item]
	if at == history.None {
		return history.None
	}
	// Rank r begins at place r-1, or later by as many as there are twins before.
	twins := uint32(len(c.order)) - (c.ranks() - 1)
	lo, hi := at+1-min(twins, at), min(at+1, c.ranks()-1)
	for lo < hi {
		if m := (lo + hi + 1) / 2; c.start[m] <= at {
			lo = m
		} else {
			hi = m - 1
		}
	}
	return lo
}

// keepRanks makes rank of start and order, unless it can be derived.
func (c *column) keepRanks() {
	if c.derived() {
		return
	}
	c.rank = make([]uint32, len(c.pos))
	for i := range c.rank {
		c.rank[i] = history.None
	}
	for r := range c.ranks() {
		for _, item := range c.order[c.start[r]:c.start[r+1]] {
			c.rank[item] = r
		}
	}
}
