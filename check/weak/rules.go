package weak

import (
	"cmp"
	"fmt"
	"slices"

	"isovet/history"
	"isovet/level"
)

// rule makes the orders that the level demands for the reads of t, without those that sessions demand.
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

// readCommitted makes the orders that read-committed demands: t2 before t1 where t reads something from t2 and later
// reads, from t1, a key that t2 wrote.
//
// The reads are walked from the last to the first. Of a key only the next operation that reads it after the first read
// from t2 is made an order of; the later ones follow, since consecutive reads of a key order their writers too.
//
// Source: [AWDIT], read committed.
// Cost:   for each writer that t read from, the smaller of what was written and what was read.
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

// nowReads stamps the keys of an operation's reads, which are the next ones for those before.
func (c *checker) nowReads(t, from, end uint32) {
	for r := end; r > from; {
		r--
		k := c.v.RKey[r]
		switch {
		case c.keyStamp[k] != t+1:
			c.keyStamp[k] = t + 1
			c.keys = append(c.keys, k)
		case c.keyRead[k] < end: // a row in two versions
			if c.again == nil {
				c.again = map[uint32][]uint32{}
			}
			c.again[k] = append(c.again[k], r)
			continue
		}
		c.keyRead[k] = r
		delete(c.again, k)
	}
}

// before demands that the writer of w comes before the writers that the next reads of its key read from, unless it is
// one of them.
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

// turn returns the first of the reads from lo on, before end, that are of one operation with the last: those of the
// rows that a predicate matched, of which none was before another.
func (c *checker) turn(lo, end uint32) uint32 {
	from := end - 1
	for from > lo && c.v.SameOp(from-1, end-1) {
		from--
	}
	return from
}

// readAtomic makes the orders that read-atomic demands of t's reads: t2 before t1 where t reads from t2, and from t1 a
// key that t2 wrote.
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

// sessionsAtomic makes the orders that read-atomic demands of sessions: t2 before t1 where a transaction follows t2 in
// its session, and reads from t1 a key that t2 wrote. Of a session's writers of the key the last one suffices. Cost:
// linear.
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

// demand adds the order "write w before what r read", w being visible to r's transaction: to broken if nothing can keep
// it, since r read the initial version, or one that is known to precede w. A read-from edge may be of w instead: see
// predicated.
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

// enough reports that there are enough orders that nothing can keep: no more are looked for.
func (c *checker) enough() bool {
	return len(c.broken) > 0 && (c.ambAt == nil || len(c.broken) >= maxConflicts)
}

// fewWrites is up to how many writes are walked without asking whether the reader's keys are fewer.
var fewWrites = 16

// overwritten demands that u comes before the writers of those of t's stamped reads whose keys u wrote too.
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

// sortedWrites are the writes of u by ascending key. They are stored, because transactions that wrote much are read
// often.
func (c *checker) sortedWrites(u int32) []uint32 {
	if s, ok := c.sorted[u]; ok {
		return s
	}
	var s []uint32
	for w := c.v.WOff[u]; w < c.v.WOff[u+1]; w++ {
		s = append(s, w)
	}
	slices.SortFunc(s, func(a, b uint32) int { return cmp.Compare(c.v.WKey[a], c.v.WKey[b]) })
	if c.sorted == nil {
		c.sorted = make(map[int32][]uint32)
	}
	c.sorted[u] = s
	return s
}
