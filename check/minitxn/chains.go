package minitxn

import (
	"slices"

	"isovet/history"
)

// slot has the key of a version, and the transaction that wrote it.
type slot struct{ key, writer uint32 }

// root is the writer of initial versions.
const root = none - 1

// chains is a history of lightweight transactions, as one chain of compare-and-sets per key.
type chains struct {
	h    *history.History
	skew int64
	at   []slot // by version
	// next: writer → the transaction that overwrote its version. first and more list the readers of a transaction's
	// version, as transaction indices. Until link reaches a writer, more holds its key.
	next, first, more []uint32
	// head: key → the transaction that overwrote its initial version; readers: key → the first reader of that version.
	head, readers []uint32
	counted       []bool // transaction → of unknown outcome, but read from; nil if there are none
	writers       int    // that count
	empty         []uint32
	order, group  []uint32
}

// Chains decides linearizability if each key is only read, or set after a comparison with a value that one transaction
// wrote. The values of a key are then a chain, and each link is a writer followed by the readers of its value. Chains
// returns an order that keeps each key's real time. ok = false means that the history is not linearizable, or has
// another shape; [Check] or [Search] tells which.
//
// Source:  [MTC] Algorithm 2. Differs: errata M7: an insert is the chain's first link, and its time counts. Reads,
// failed compare-and-sets and failed inserts come after the writer that they saw. Unknown outcomes never end, and count
// if they were read from. A running maximum of starts, forward, replaces a minimum of ends, backward. All chains are
// walked together, so that memory is mostly read in the order of the file. Cost: O(transactions); two accesses out of
// order for each.
func Chains(h *history.History, skew int64) (order []uint32, ok bool) {
	if h.HasPredicates() || h.HasLists() {
		return nil, false
	}
	c := &chains{h: h, skew: skew}
	if !c.shapes() || !c.links() {
		return nil, false
	}
	return c.walk()
}

// shapes separates writers from readers, and finds the writer of each version.
func (c *chains) shapes() bool {
	h := c.h
	c.at = make([]slot, h.NumVersions())
	for v, k := range h.VerKey {
		c.at[v] = slot{k, none}
	}
	for _, v := range h.InitVer {
		if v != none {
			c.at[v].writer = root
		}
	}
	n := uint32(h.NumTxns())
	c.more = make([]uint32, n)
	for t := range n {
		if h.Txns.Status[t] == history.Aborted || t == h.Init {
			continue
		}
		switch lo, hi := h.TxnOps(t); {
		case hi == lo && h.Txns.Status[t] == history.Committed:
			c.empty = append(c.empty, t)
		case hi == lo:
		case hi == lo+1 && h.Ops.Kind[lo] == history.Read:
		// whether it took effect or not, it changes nothing
		case hi == lo+2 && h.Txns.Status[t] == history.Unknown && h.Ops.Ver[lo] == h.Ops.Ver[lo+1] &&
			h.Ops.Kind[lo] == history.Read:
		case hi == lo+2 && h.Ops.Kind[lo] == history.Read && h.Ops.Kind[lo+1] == history.Write &&
			h.Ops.Ver[lo] != h.Ops.Ver[lo+1]:
			s := &c.at[h.Ops.Ver[lo+1]]
			if s.writer != none {
				return false
			}
			s.writer = t
			c.more[t] = s.key
		default:
			return false
		}
	}
	return true
}

// links links each writer to the version that it overwrote, and each reader to the version that it saw.
func (c *chains) links() bool {
	h := c.h
	n := uint32(h.NumTxns())
	c.next, c.first = filled(int(n)), filled(int(n))
	c.head, c.readers = filled(h.NumKeys()), filled(h.NumKeys())
	var work []uint32
	for t := range n {
		if h.Txns.Status[t] != history.Committed || t == h.Init || h.Txns.OpOff[t] == h.Txns.OpOff[t+1] {
			continue
		}
		if !c.link(t, &work) {
			return false
		}
		for len(work) > 0 {
			u := work[len(work)-1]
			work = work[:len(work)-1]
			if !c.link(u, &work) {
				return false
			}
		}
	}
	return true
}

// link links one transaction. If the writer that it read from has an unknown outcome, link adds that writer to work.
func (c *chains) link(t uint32, work *[]uint32) bool {
	h := c.h
	lo, hi := h.TxnOps(t)
	s := c.at[h.Ops.Ver[lo]]
	w := s.writer
	if w == none {
		return false
	}
	writes := hi == lo+2
	switch {
	case writes && s.key != c.more[t]:
		return false
	case writes && w == root:
		if c.head[s.key] != none {
			return false
		}
		c.head[s.key] = t
		c.writers++
	case writes:
		if c.next[w] != none {
			return false
		}
		c.next[w] = t
		c.writers++
	case w == root:
		c.more[t], c.readers[s.key] = c.readers[s.key], t
	default:
		c.more[t], c.first[w] = c.first[w], t
	}
	if w != root && h.Txns.Status[w] == history.Unknown {
		if c.counted == nil {
			c.counted = make([]bool, h.NumTxns())
		}
		if !c.counted[w] {
			c.counted[w] = true
			*work = append(*work, w)
		}
	}
	return true
}

// walk follows all chains together.
func (c *chains) walk() ([]uint32, bool) {
	h := c.h
	c.order = make([]uint32, 0, h.NumTxns())
	late := make([]int64, h.NumKeys()) // by key, the latest start of what comes before
	var active []uint32                // keys
	for k := range late {
		late[k] = history.NoTime
		if !c.stand(c.readers[k], history.NoTime, &late[k]) {
			return nil, false
		}
		if c.head[k] != none {
			active = append(active, uint32(k))
		}
	}
	walked := 0
	for len(active) > 0 {
		left := active[:0]
		for _, k := range active {
			t := c.head[k]
			from, until := h.Window(t, c.skew)
			if late[k] > until {
				return nil, false
			}
			c.order = append(c.order, t)
			walked++
			late[k] = max(late[k], from)
			if !c.stand(c.first[t], late[k], &late[k]) {
				return nil, false
			}
			if c.head[k] = c.next[t]; c.head[k] != none {
				left = append(left, k)
			}
		}
		active = left
	}
	return append(c.order, c.empty...), walked == c.writers
}

// stand appends the readers of a version, in the order of their starts. It returns false if one ended before since, the
// latest start so far.
func (c *chains) stand(reader uint32, since int64, late *int64) bool {
	if reader == none {
		return true
	}
	c.group = c.group[:0]
	for ; reader != none; reader = c.more[reader] {
		c.group = append(c.group, reader)
	}
	slices.Reverse(c.group)
	sorted, last := true, int64(history.NoTime)
	for _, t := range c.group {
		from, until := c.h.Window(t, c.skew)
		if since > until {
			return false
		}
		sorted = sorted && from >= last
		last = from
		*late = max(*late, from)
	}
	if !sorted {
		slices.SortStableFunc(c.group, func(a, b uint32) int {
			x, y := c.h.Start(a), c.h.Start(b)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	c.order = append(c.order, c.group...)
	return true
}
