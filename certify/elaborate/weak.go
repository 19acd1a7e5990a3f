package elaborate

import (
	"errors"
	"slices"

	"isovet/certify/kernel"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/sorts"
	"isovet/level"
)

// weakLevels has the kernel's form of each weak level.
var weakLevels = map[level.Level]kernel.Weak{level.ReadCommitted: kernel.ReadCommitted,
	level.ReadAtomic: kernel.ReadAtomic, level.Causal: kernel.Causal}

type columns = kernel.Columns[history.OpKind]

// weak proves that a weak level holds, by its order of transactions.
func (p *Proof) weak(v kernel.Weak, r *evidence.Result, x *terms) error {
	h := x.h
	c, at := x.columns(), []uint32(nil)
	if c == nil && v == kernel.ReadCommitted && x.inits == nil {
		if why := x.ownRows(); why != "" {
			return &Unsupported{why + " at " + r.Level.String()}
		}
		c, at = x.rowColumns()
		x.items = true
	}
	if c == nil {
		return &Unsupported{"lists and predicates at " + r.Level.String()}
	}
	p.Order = make([]uint32, 0, len(r.Order))
	for _, t := range r.Order {
		if int(t) >= h.NumTxns() {
			return &Refused{"the order has a transaction that the history lacks"}
		}
		if t != h.Init {
			p.Order = append(p.Order, number(t))
		}
	}
	saw, doubtful := sources(h, c, at, r)
	p.saw = func(t uint32) []uint32 { return external(c, t-1, saw) }
	a := kernel.CheckWeak(v, x, c, p.Order, saw)
	if a.Outcome == kernel.GaveUp {
		return &Unsupported{"reads of versions so old at " + r.Level.String()}
	}
	if a.Outcome != kernel.Proved && doubtful {
		p.Order = early(h, c, p.Order, saw)
		a = kernel.CheckWeak(v, x, c, p.Order, saw)
	}
	err := refused(a)
	if errors.As(err, new(*Refused)) && at != nil {
		return &Unsupported{"rows of a predicate operation in any order at " + r.Level.String()}
	}
	if errors.As(err, new(*Refused)) && doubtful {
		return &Unsupported{"the writers of the reads at " + r.Level.String()}
	}
	return err
}

// sources returns, for each read, the writer of the version read; 0 is the initial version. It is the writer that the
// evidence names, or the last one before the reader in the order that left this version. The sources are doubtful, not
// surely those that the answer means, where several transactions left a version, or where a transaction has an unknown
// outcome: the kernel lets later transactions of its session see it.
func sources(h *history.History, c *columns, at []uint32, r *evidence.Result) (saw []uint32, doubtful bool) {
	saw = make([]uint32, len(c.Ver))
	left := make([]uint32, h.NumVersions()) // version → the last transaction that left it
	final := make([]uint32, h.NumKeys())    // key → one more than the last transaction whose final write is done
	for _, t := range r.Order {
		if t == h.Init {
			continue
		}
		doubtful = doubtful || h.Txns.Status[t] == history.Unknown
		lo, hi := c.Off[t], c.Off[t+1]
		for op := lo; op < hi; op++ {
			if c.Kind[op] == history.Read {
				saw[op] = left[c.Ver[op]]
			}
		}
		for op := hi; op > lo; op-- {
			v := c.Ver[op-1]
			if k := h.VerKey[v]; c.Kind[op-1] == history.Write && final[k] != number(t) {
				final[k] = number(t)
				doubtful = doubtful || left[v] != 0 || h.InitVer[k] == v
				left[v] = number(t)
			}
		}
	}
	for _, s := range r.Sources {
		op := s.Op
		if int(op) >= h.NumOps() || h.Ops.Kind[op] != history.Read {
			continue
		}
		if at != nil {
			op = at[op]
		}
		if saw[op] = 0; s.Writer != history.None && s.Writer != h.Init {
			saw[op] = number(s.Writer)
		}
	}
	if doubtful && r.Level != level.ReadCommitted {
		agree(h, c, saw)
	}
	return saw, doubtful
}

// agree gives all reads of a key by one transaction the writer of the first one. With two writers each would be visible
// to the read of the other.
func agree(h *history.History, c *columns, saw []uint32) {
	first := make([]uint32, h.NumKeys()) // key → one more than its last reader
	from := make([]uint32, h.NumKeys())
	for t := range uint32(h.NumTxns()) {
		for op := c.Off[t]; op < c.Off[t+1]; op++ {
			k := h.VerKey[c.Ver[op]]
			switch {
			case c.Kind[op] != history.Read:
			case first[k] == number(t):
				saw[op] = from[k]
			default:
				first[k], from[k] = number(t), saw[op]
			}
		}
	}
}

// early returns an order in which transactions of unknown outcome come as soon as possible: after the committed ones
// before them in their session, and after those that they read from. For the kernel such a transaction is visible to
// the later ones of its session that follow it in the order, although these need not follow it.
func early(h *history.History, c *columns, order, saw []uint32) []uint32 {
	place := make([]int, h.NumTxns()) // its own if it is committed; else the place of the last that it must follow
	for i, n := range order {
		if h.Txns.Status[n-1] == history.Committed {
			place[n-1] = i
		}
	}
	for s := range h.NumSessions() {
		last := -1
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if h.Txns.Status[t] == history.Committed {
				last = max(last, place[t])
			} else {
				place[t] = last
			}
		}
	}
	for _, n := range order {
		if h.Txns.Status[n-1] == history.Committed {
			continue
		}
		for _, w := range external(c, n-1, saw) {
			if w != 0 {
				place[n-1] = max(place[n-1], place[w-1])
			}
		}
	}
	order = slices.Clone(order)
	sorts.Stable(order, func(a, b uint32) int { return place[a-1] - place[b-1] })
	return order
}

// external returns the writers of the versions of other transactions that t read.
func external(c *columns, t uint32, saw []uint32) (ws []uint32) {
	wrote := map[uint32]bool{}
	for op := c.Off[t]; op < c.Off[t+1]; op++ {
		k := c.Keys[c.Ver[op]]
		if c.Kind[op] == history.Write {
			wrote[k] = true
		} else if !wrote[k] {
			ws = append(ws, saw[op])
		}
	}
	return ws
}
