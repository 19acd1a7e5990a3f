package evidence

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

// Complete fills what follows from an anomaly's operations and cycles: Kind (of cycles only), Txns and Text, each where it is
// not yet set.
func (a *Anomaly) Complete(h *history.History) {
	if a.Kind == "" {
		if a.Kind = a.classify(); len(a.Cycle) > 0 {
			a.Kind = refine(a.Kind, a.Cycle, h)
		}
	}
	if a.Txns == nil {
		a.Txns = a.involved(h, true)
	}
	if a.Text == "" {
		a.Text = Describe(a, h)
	}
}

// involved returns the transactions that the anomaly speaks of, each once, in the order in which it speaks of them; last, if
// asked for, those that only wrote what an rw edge's reader saw.
func (a *Anomaly) involved(h *history.History, writers bool) []uint32 {
	seen := make(map[uint32]struct{})
	var out []uint32
	add := func(t uint32) {
		if _, ok := seen[t]; t != history.None && !ok {
			seen[t] = struct{}{}
			out = append(out, t)
		}
	}
	for _, op := range a.Ops {
		add(TxnOf(h, op))
	}
	for _, ops := range a.Dead {
		add(TxnOf(h, ops[0]))
	}
	cycles := append([][]Edge{a.Cycle}, a.Cycles...)
	for _, c := range cycles {
		for _, e := range c {
			add(e.From)
		}
	}
	for _, c := range cycles {
		for _, e := range c {
			if writers && (e.Dep == RW || e.Dep == PRW) && e.Writer != h.Init {
				add(e.Writer)
			}
		}
	}
	return out
}

// TxnOf returns the transaction of an operation. Cost: O(log transactions).
func TxnOf(h *history.History, op uint32) uint32 {
	lo, hi := 0, h.NumTxns()
	for lo+1 < hi {
		if m := int(uint(lo+hi) / 2); h.Txns.OpOff[m] <= op {
			lo = m
		} else {
			hi = m
		}
	}
	return uint32(lo)
}

// classify names a proof by cycles: by its one cycle, or by the shape that all its cycles share.
func (a *Anomaly) classify() level.Anomaly {
	if len(a.Cycle) > 0 {
		return Classify(a.Cycle)
	}
	kind := level.NoOrder
	for i, c := range a.Cycles {
		k := Classify(c)
		if i > 0 && k != kind {
			return level.NoOrder
		}
		kind = k
	}
	// A general class of one way to order the versions says little of the others; a shape between the same transactions does.
	if kind == level.LostUpdate && sameTwo(a.Cycles) || kind == level.G2 {
		return kind
	}
	return level.NoOrder
}

// refine gives a cycle's name where the operations tell more than its edges:
//
//   - non-monotonic-read: a read skew whose reader saw the newer version first and then an older transaction's (MTC, Figure 5 i)
//   - fractured-read: any other read skew: of a transaction's writes one was seen, another not (MTC, Figure 5 j)
//   - read-only-anomaly: a transaction that writes nothing closes a cycle of three with two anti-dependencies in a row (Fekete et
//     al. 2004)
func refine(kind level.Anomaly, cycle []Edge, h *history.History) level.Anomaly {
	switch {
	case kind == level.ReadSkew && len(cycle) == 2:
		anti, seen := cycle[0], cycle[1]
		if anti.Dep != RW {
			anti, seen = seen, anti
		}
		if anti.Writer != history.None && anti.Writer != h.Init && firstRead(h, anti.From, seen.Ver) < lastRead(h, anti.From, anti.Ver) {
			return level.NonMonotonicRead
		}
		return level.FracturedRead
	case kind == level.G2Item && len(cycle) == 3:
		for i, e := range cycle {
			if before := cycle[(i+2)%3]; e.Dep == RW && before.Dep == WR && cycle[(i+1)%3].Dep == RW && !writes(h, e.From) {
				return level.ReadOnlyAnomaly
			}
		}
	}
	return kind
}

// saw reports whether an operation reads version ver, alone or in a list.
func saw(h *history.History, op, ver uint32) bool {
	i := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Read:
		return i == ver
	case history.ReadList:
		return slices.Contains(h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]], ver)
	}
	return false
}

// firstRead returns t's first operation that reads version ver; one past its last if there is none.
func firstRead(h *history.History, t, ver uint32) uint32 {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if saw(h, op, ver) {
			return op
		}
	}
	return hi
}

// lastRead returns t's last operation that reads version ver; its first if there is none.
func lastRead(h *history.History, t, ver uint32) uint32 {
	lo, hi := h.TxnOps(t)
	for op := hi; op > lo; op-- {
		if saw(h, op-1, ver) {
			return op - 1
		}
	}
	return lo
}

// writes reports whether t writes anything.
func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		switch h.Ops.Kind[op] {
		case history.Write, history.Append, history.PredWrite:
			return true
		}
	}
	return false
}

// sameTwo reports whether all cycles are between the same two transactions.
func sameTwo(cycles [][]Edge) bool {
	for _, c := range cycles {
		for _, e := range c {
			if f := cycles[0][0]; e.From != f.From && e.From != f.To {
				return false
			}
		}
	}
	return true
}

// Classify names a cycle: by its shape where it has a telling one, else by its edges.
//
// Shapes, with the source of the name:
//
//   - lost-update: two transactions that both wrote a key, one of which read a version older than the other's
//     (rw and ww, or rw and rw, on one key; Berenson et al. 1995, P4)
//   - write-skew: two anti-dependencies on different keys (A5B there)
//   - read-skew: one transaction's write seen and another of its writes missed (wr, rw; A5A there); with the operations at hand it is
//     a fractured or a non-monotonic read (refine)
//   - long-fork: wr, rw, wr, rw (Cerone et al. 2015; Adya's non-monotonic snapshots)
//   - stale-read: a read misses what had ended before it began (rt, rw)
//   - session-guarantee-violation: one session edge, and one or two edges that show it broken: read your writes, monotonic
//     reads, monotonic writes, writes follow reads (Terry et al. 1994)
//   - causality-violation: what a transaction saw, through reads and sessions only, is missed by its read (so and wr, one rw)
//   - causal-reverse: the later of two transactions is seen and the earlier is not (rt, wr, rw)
//
// Edges, by Adya's thesis (1999) and Elle (Kingsbury and Alvaro 2020): only ww is G0; no anti-dependency G1c;
// one G-single; several, no two in a row, G-nonadjacent; else G2-item, or G2 where one is on a predicate. A suffix says that
// the cycle has real-time, else session, edges.
func Classify(cycle []Edge) level.Anomaly {
	var n [len(depNames)]int
	for _, e := range cycle {
		n[e.Dep]++
	}
	if shape := shapeOf(cycle, n[:]); shape != "" {
		return shape
	}
	kind := level.G2Item
	switch anti := n[RW] + n[PRW]; {
	case anti == 0 && n[WR]+n[PWR] == 0:
		kind = level.G0
	case anti == 0:
		kind = level.G1c
	case anti == 1:
		kind = level.GSingle
	case !Adjacent(cycle):
		kind = level.GNonadjacent
	case n[PRW] > 0:
		kind = level.G2
	}
	if n[RT] > 0 {
		return kind + "-realtime"
	}
	if n[SO] > 0 {
		return kind + "-session"
	}
	return kind
}

// Adjacent reports whether two anti-dependencies follow each other in the cycle, the last and the first edge included. Such a
// cycle is allowed under snapshot isolation (errata B2).
func Adjacent(cycle []Edge) bool {
	for i, e := range cycle {
		if next := cycle[(i+1)%len(cycle)]; anti(e.Dep) && anti(next.Dep) {
			return true
		}
	}
	return false
}

func anti(d Dep) bool { return d == RW || d == PRW }

func shapeOf(cycle []Edge, n []int) level.Anomaly {
	size := len(cycle)
	if n[PWR]+n[PRW]+n[TS] > 0 {
		return ""
	}
	sameKey := size == 2 && cycle[0].Key == cycle[1].Key
	switch {
	case size == 2 && sameKey && (n[RW] == 2 || n[RW] == 1 && n[WW] == 1):
		return level.LostUpdate
	case size == 2 && n[RW] == 2:
		return level.WriteSkew
	case size == 2 && n[RW] == 1 && n[WR] == 1:
		return level.ReadSkew
	case size == 4 && n[RW] == 2 && n[WR] == 2 && !Adjacent(cycle):
		return level.LongFork
	case n[RT] > 0 && n[SO] == 0 && n[RW] == 1 && n[RT]+1 == size:
		return level.StaleRead
	case n[SO] == 1 && (size == 2 && n[RT] == 0 || size == 3 && n[WR] == 1 && n[RW]+n[WW] == 1):
		return level.SessionGuarantee
	case n[RW] == 1 && n[RT] == 0 && n[WW] == 0 && n[WR] > 0:
		return level.CausalityViolation
	case n[RW] == 1 && n[RT] > 0 && n[WW] == 0 && n[WR] > 0:
		return level.CausalReverse
	}
	return ""
}
