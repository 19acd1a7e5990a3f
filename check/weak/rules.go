package weak

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// rule demands the orders that the level derives from the reads of t; sessionsAtomic adds those from sessions.
func (c *checker) rule(t uint32) {
	if n := c.v.ROff[t+1] - c.v.ROff[t]; n < 2 || !c.v.Counts[t] {
		return
	}
	c.keys = c.keys[:0]
	switch c.level {
	case level.ReadCommitted:
		c.readCommitted(t)
	case level.ReadAtomic:
		c.readAtomic(t)
	default:
		panic(fmt.Sprintf("weak: no rule for %s", c.level))
	}
}

// readCommitted demands the orders of read-committed: t2 before t1, if t reads something from t2 and later reads a key
// that t2 wrote, from t1.
//
// It walks the reads backwards. For each key that t2 wrote, it demands only an order for the next read of that key
// after the first read from t2. Consecutive reads of a key order their writers too, so the other orders follow.
//
// Source: [AWDIT], read committed.
// Cost:   for each writer that t read from, the smaller of the number of its writes and the number of t's reads.
func (c *checker) readCommitted(t uint32) {
	v := c.v
	lo, hi := v.ROff[t], v.ROff[t+1]
	c.first = c.first[:0]
	for r := lo; r < hi; r++ {
		u := c.src[r]
		c.first = append(c.first, u >= 0 && c.srcStamp[u] != t+1)
		if u >= 0 {
			c.srcStamp[u] = t + 1
		}
	}
	for end := hi; end > lo; {
		from := c.turn(lo, end)
		for r := from; r < end; r++ {
			if c.first[r-lo] {
				c.overwritten(c.src[r], t)
			}
		}
		for r := from; r < end; r++ {
			if c.src[r] >= 0 && c.keyStamp[v.RKey[r]] == t+1 {
				c.before(v.RW[r])
			}
		}
		c.nowReads(t, from, end)
		end = from
	}
	clear(c.again)
}

// nowReads stamps the keys that one operation reads. For earlier operations, these are the next reads of the keys.
func (c *checker) nowReads(t, from, end uint32) {
	for r := end; r > from; {
		r--
		k := c.v.RKey[r]
		switch {
		case c.keyStamp[k] != t+1:
			c.keyStamp[k] = t + 1
			c.keys = append(c.keys, k)
		case c.keyRead[k] < end: // a row in two versions
			slice.MakeMap(&c.again)
			c.again[k] = append(c.again[k], r)
			continue
		}
		c.keyRead[k] = r
		delete(c.again, k)
	}
}

// before demands that the writer of w precedes the writer of the next read of its key, unless it is that writer. If a
// predicate operation shows the row in two versions, there are several next reads.
func (c *checker) before(w uint32) {
	u, k := int32(c.v.WTxn[w]), c.v.WKey[w]
	if r := c.keyRead[k]; c.src[r] != u {
		c.demand(w, r)
	}
	for _, r := range c.again[k] {
		if c.src[r] != u {
			c.demand(w, r)
		}
	}
}

// turn returns the first read, from lo on, that belongs to the same operation as read end-1. A predicate operation has
// a read for each row that it matched, and they have no order among them.
func (c *checker) turn(lo, end uint32) uint32 {
	from := end - 1
	for from > lo && c.v.SameOp(from-1, end-1) {
		from--
	}
	return from
}

// readAtomic demands the orders of read-atomic for t's reads: t2 before t1, if t reads from t2, and reads from t1 a key
// that t2 wrote.
//
// Source: [AWDIT], read atomic. Cost: as readCommitted.
func (c *checker) readAtomic(t uint32) {
	v := c.v
	lo, hi := v.ROff[t], v.ROff[t+1]
	for r := lo; r < hi; r++ {
		k := v.RKey[r]
		c.keyStamp[k], c.keyRead[k] = t+1, r
		c.keys = append(c.keys, k)
	}
	for r := lo; r < hi; r++ {
		u := c.src[r]
		if u < 0 || c.srcStamp[u] == t+1 {
			continue
		}
		c.srcStamp[u] = t + 1
		c.overwritten(u, t)
	}
}

// sessionsAtomic demands the orders of read-atomic for sessions: t2 before t1, if t follows t2 in its session, and t
// reads from t1 a key that t2 wrote. The last writer of the key in the session suffices. Cost: linear.
func (c *checker) sessionsAtomic() {
	v, h := c.v, c.h
	last := make([]uint32, h.NumKeys()) // key → its last write in the session at hand
	stamp := make([]uint32, h.NumKeys())
	for s := range uint32(h.NumSessions()) {
		if c.stop(int(s)) || c.enough() {
			return
		}
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		if len(txns) < 2 {
			continue
		}
		for _, t := range txns {
			if !v.Counts[t] {
				continue
			}
			for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
				if k := v.RKey[r]; stamp[k] == s+1 && last[k] != v.RW[r] {
					c.demand(last[k], r)
				}
			}
			if h.Txns.Status[t] == history.Unknown {
				continue
			}
			for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
				last[v.WKey[w]], stamp[v.WKey[w]] = w, s+1
			}
		}
	}
}

// demand adds the order "write w before the version that r read", where w is visible to r's transaction. If no commit
// order can keep it, because r read the initial version, or a version known to precede w, demand adds it to broken
// instead. If r is an implied read that may be of w, nothing follows: see predicated.
func (c *checker) demand(w, r uint32) {
	v := c.v
	if v.IsImplied(r) && c.fits(w, r) {
		return
	}
	d := demand{int32(v.WTxn[w]), c.source(r), r}
	if c.o.Known.Rank != nil {
		if at := c.o.Known.Rank[v.WVer[w]]; at != none {
			if at > c.o.Known.Rank[v.RVer(r)] {
				c.broken = append(c.broken, d)
			}
			return
		}
	}
	if d.to < 0 {
		c.broken = append(c.broken, d)
		return
	}
	c.demands = append(c.demands, d)
}

// enough reports whether broken has enough orders, so that the search for more can stop.
func (c *checker) enough() bool {
	return len(c.broken) > 0 && (c.ambAt == nil || len(c.broken) >= maxConflicts)
}

// fewWrites is the number of writes below which overwritten walks them without comparing it to the number of keys read.
var fewWrites = 16

// overwritten demands, for each stamped read of t whose key u wrote too, that u precedes the read's writer.
func (c *checker) overwritten(u int32, t uint32) {
	v := c.v
	lo, hi := v.WOff[u], v.WOff[u+1]
	if n := int(hi - lo); n <= fewWrites || n <= 4*len(c.keys) {
		for w := lo; w < hi; w++ {
			if c.keyStamp[v.WKey[w]] == t+1 {
				c.before(w)
			}
		}
		return
	}
	written := c.sortedWrites(u)
	for _, k := range c.keys {
		if r := c.keyRead[k]; c.src[r] == u && len(c.again) == 0 {
			continue
		}
		if i, ok := slices.BinarySearchFunc(written, k, func(w, k uint32) int {
			return cmp.Compare(v.WKey[w], k)
		}); ok {
			c.before(written[i])
		}
	}
}

// sortedWrites returns the writes of u by ascending key. It caches them, because large transactions are read often.
func (c *checker) sortedWrites(u int32) []uint32 {
	if s, ok := c.sorted[u]; ok {
		return s
	}
	var s []uint32
	for w := c.v.WOff[u]; w < c.v.WOff[u+1]; w++ {
		s = append(s, w)
	}
	slices.SortFunc(s, func(a, b uint32) int { return cmp.Compare(c.v.WKey[a], c.v.WKey[b]) })
	slice.MakeMap(&c.sorted)
	c.sorted[u] = s
	return s
}
