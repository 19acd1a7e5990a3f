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

// weakLevel is the kernel's form of a weak level.
func weakLevel(l level.Level) (v kernel.Weak, ok bool) {
	switch l {
	case level.ReadCommitted:
		return kernel.ReadCommitted, true
	case level.ReadAtomic:
		return kernel.ReadAtomic, true
	case level.Causal:
		return kernel.Causal, true
	}
	return 0, false
}

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

// sources is the writer of the version that each operation reads: whom the evidence names, else who left that version
// last before, in the order; 0 is the initial version. Where several left a version, or transactions of unknown outcome
// are of a session, it is doubtful whether these sources are the ones that the answer means: the kernel has those of
// unknown outcome visible to what follows them.
func sources(h *history.History, c *columns, at []uint32, r *evidence.Result) (saw []uint32, doubtful bool) {
	saw = make([]uint32, len(c.Ver))
	left := make([]uint32, h.NumVersions()) // version → who left it last
	final := make([]uint32, h.NumKeys())    // key → one more than who wrote it, where that has been seen
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

// agree has a transaction's reads of a key before it writes that be from whom the first one is: of two writers each
// would be visible to the read of the other.
func agree(h *history.History, c *columns, saw []uint32) {
	first := make([]uint32, h.NumKeys()) // key → one more than who read it last
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

// early is an order in which transactions of unknown outcome come as soon as they may: after those of their session
// that committed before, and those that they read from. The kernel has visible to a transaction what is before it in
// the order, of its session, though who follows it there be not bound to.
func early(h *history.History, c *columns, order, saw []uint32) []uint32 {
	place := make([]int, h.NumTxns()) // its own, of a committed one; else of the last that it has to follow
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

// external are the writers that the reads of t of what others wrote are from.
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
