package lists

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
)

// Blind returns a view's history with registers, like [View.Registers], but adds no reads. Each read of a list keeps
// its place. A transaction's appends to a list become one write of a unique value, at the transaction's end.
// [Registers.Ranks] and [Registers.Orders] give the order of the writers. The view must be blind (Options), without
// anomalies and not ambiguous. Cost: linear.
func (v *View) Blind() *Registers {
	g := v.told()
	h := v.H
	n := uint32(h.NumTxns())
	for t := range n {
		g.H.Txns.OpOff[t] = uint32(len(g.op))
		if t == h.Init {
			g.tellInit()
			continue
		}
		r := v.ROff[t]
		for op := range h.EachOp(t) {
			switch kind := h.Ops.Kind[op]; {
			case kind == history.Read || kind == history.Write:
				g.tell(op, kind, h.Ops.Ver[op])
			case r < v.ROff[t+1] && v.ROp[r] == op:
				g.tell(op, history.Read, g.state(v.RKey[r], v.RSeen[r]))
				r++
			}
		}
		for w := v.WOff[t]; w < v.WOff[t+1] && v.Counts[t]; w++ {
			g.tell(none, history.Write, g.first+w)
		}
	}
	g.H.Txns.OpOff[n] = uint32(len(g.op))
	return g
}

// Unshown is the rank of a version that no transaction read. It is higher than all others.
const Unshown = none - 1

// Ranks returns the place of each version of g.H in the known order of its list: 0 for the initial version, from 1
// along the chain, then Unshown; None for versions of registers.
func (g *Registers) Ranks() []uint32 {
	v := g.v
	out := slices.Repeat([]uint32{none}, g.H.NumVersions())
	for w, at := range v.WPos {
		if at = at + 1; at == 0 {
			at = Unshown
		}
		out[g.first+uint32(w)] = at
	}
	for k, is := range v.IsList {
		if is {
			out[g.initial(uint32(k))] = 0
		}
	}
	return out
}

// Orders calls f for each two adjacent transactions of a chain, and for the last one of a chain and each transaction
// whose appends to the list no transaction read.
func (g *Registers) Orders(f func(t, u int32)) {
	v := g.v
	for k := range uint32(v.H.NumKeys()) {
		chain := v.chain(k)
		if len(chain) == 0 {
			continue
		}
		for i := 1; i < len(chain); i++ {
			f(int32(v.WTxn[chain[i-1]]), int32(v.WTxn[chain[i]]))
		}
		last := int32(v.WTxn[chain[len(chain)-1]])
		for _, w := range v.unread(k) {
			f(last, int32(v.WTxn[w]))
		}
	}
}

// Op returns the operation of the list history that operation o of g.H represents, or None.
func (g *Registers) Op(o uint32) uint32 { return g.op[o] }

// Retold translates evidence about the registers of a blind view back to the lists: the versions of its edges become
// the elements that they represent.
func (g *Registers) Retold(a evidence.Anomaly) evidence.Anomaly {
	cycle := func(c []evidence.Edge) []evidence.Edge { return slice.Map(c, g.retold) }
	back := g.ofOps(a)
	back.Cycle = cycle(a.Cycle)
	back.Cycles = slice.Map(a.Cycles, cycle)
	return back
}

// ofOps returns evidence with the operations of the list history, without cycles.
func (g *Registers) ofOps(a evidence.Anomaly) evidence.Anomaly {
	ops := func(of []uint32) []uint32 { return slice.Pick(g.op, of) }
	return evidence.Anomaly{Kind: a.Kind, Key: a.Key, Ops: ops(a.Ops), Dead: slice.Map(a.Dead, ops)}
}

func (g *Registers) retold(e evidence.Edge) evidence.Edge {
	v := g.v
	if e.Key == none || !v.IsList[e.Key] {
		return e
	}
	switch w := e.Ver - g.first; {
	case w < uint32(len(v.WTxn)):
		e.Ver = v.WVer[w]
	default:
		e.Ver = v.InitVer[e.Key]
		if e.Dep == evidence.RW && e.Ver != none {
			e.Writer = v.H.Init
		}
	}
	return e
}
