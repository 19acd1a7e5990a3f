package lists

import (
	"slices"

	"isovet/check/events"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Registers is a list history translated to registers. It has the same transactions, sessions and times, and at a
// serializable or snapshot level an order explains it if and only if it explains the list history.
//
// A transaction that appends to a list writes one unique value. A transaction that reads the list reads the value of
// the last transaction that it saw. A writer of the chain that does not read the list itself also reads the value
// before its own. Then no other write of the key can come between the two, nor before the first one, which reads the
// initial value. So every order has the chain as it is, and the unread writes after it.
type Registers struct {
	H *history.History
	v *View
	// op[o] is the operation of the list history that operation o of H represents, or None for an added read.
	op []uint32
	// From version first on, the versions of H represent lists: first + w for write w, and then each list's initial
	// version.
	first uint32
}

// Registers translates a view's history to registers. The view must have no anomalies and not be ambiguous. Cost:
// linear.
func (v *View) Registers() *Registers {
	g := v.told()
	h := v.H
	n, nk := uint32(h.NumTxns()), uint32(h.NumKeys())
	// stamp[k] is 1 + the last transaction whose operation on list k is done.
	stamp := make([]uint32, nk)
	mine := make([]uint32, nk) // 1 + its read of the list, valid with its stamp
	whose := make([]uint32, nk)
	for t := range n {
		g.H.Txns.OpOff[t] = uint32(len(g.op))
		if t == h.Init {
			g.tellInit()
			continue
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			mine[v.RKey[r]], whose[v.RKey[r]] = r, t+1
		}
		next := v.WOff[t] // a transaction's writes are numbered as its lists come
		for op := range h.EachOp(t) {
			kind := h.Ops.Kind[op]
			if kind == history.Read || kind == history.Write {
				g.tell(op, kind, h.Ops.Ver[op])
				continue
			}
			if !v.Counts[t] {
				continue
			}
			key := h.OpKey(op)
			if stamp[key] != t+1 {
				stamp[key] = t + 1
				if whose[key] == t+1 {
					g.tell(v.ROp[mine[key]], history.Read, g.state(key, v.RSeen[mine[key]]))
				} else if w := v.write(t, key); v.WPos[w] != none {
					g.tell(none, history.Read, g.state(key, v.WPos[w]))
				}
			}
			if kind == history.Append && next < v.WOff[t+1] && v.WKey[next] == key {
				g.tell(op, history.Write, g.first+next)
				next++
			}
		}
	}
	g.H.Txns.OpOff[n] = uint32(len(g.op))
	return g
}

// told creates the registers' history without operations. Its versions are those of the view, one for each write of a
// list, and one for each list's initial elements.
func (v *View) told() *Registers {
	h := v.H
	g := &Registers{v: v, first: uint32(h.NumVersions())}
	nw, nk := uint32(len(v.WTxn)), uint32(h.NumKeys())
	out := *h
	out.Meta.Lists = false
	out.Lists = history.Lists{}
	out.Ops = history.Ops{Kind: make([]history.OpKind, 0, h.NumOps()), Ver: make([]uint32, 0, h.NumOps())}
	g.op = make([]uint32, 0, h.NumOps())
	// Each list value is new, and so differs from every register's initial value.
	base := int64(1)
	if h.Initial.Kind == history.Int && h.Initial.N > 0 {
		base = -int64(nw + nk)
	}
	grow := func(ver uint32, key uint32, val history.Value) {
		out.VerKey[ver], out.VerKind[ver], out.VerN[ver] = key, val.Kind, val.N
	}
	total := g.first + nw + nk
	out.VerKey = append(make([]uint32, 0, total), h.VerKey...)[:total]
	out.VerKind = append(make([]history.ValueKind, 0, total), h.VerKind...)[:total]
	out.VerN = append(make([]int64, 0, total), h.VerN...)[:total]
	out.InitVer = append([]uint32(nil), h.InitVer...)
	for w := range nw {
		grow(g.first+w, v.WKey[w], history.IntValue(base+int64(w)))
	}
	for k := range nk {
		val := history.IntValue(base + int64(nw+k))
		if v.IsList[k] && v.InitVer[k] == none {
			val = h.Initial
		}
		grow(g.first+nw+k, k, val)
		if v.IsList[k] {
			out.InitVer[k] = g.first + nw + k
		}
	}
	out.Txns.OpOff = make([]uint32, h.NumTxns()+1)
	g.H = &out
	return g
}

// tell adds an operation that represents operation o of the list history, or None.
func (g *Registers) tell(o uint32, kind history.OpKind, ver uint32) {
	g.H.Ops.Kind = append(g.H.Ops.Kind, kind)
	g.H.Ops.Ver = append(g.H.Ops.Ver, ver)
	g.op = append(g.op, o)
}

// tellInit adds the operations of the initial transaction.
func (g *Registers) tellInit() {
	h := g.v.H
	done := make(map[uint32]bool)
	for op := range h.EachOp(h.Init) {
		key := h.OpKey(op)
		switch kind := h.Ops.Kind[op]; {
		case kind == history.Read || kind == history.Write:
			g.tell(op, kind, h.Ops.Ver[op])
		case !done[key] && g.v.InitVer[key] != none:
			done[key] = true
			g.tell(op, history.Write, g.initial(key))
		}
	}
}

// state returns the version that represents a list after the first so many writers of its chain.
func (g *Registers) state(key, writers uint32) uint32 {
	if writers == 0 {
		return g.initial(key)
	}
	return g.first + g.v.chain(key)[writers-1]
}

// initial returns the version that represents a list's initial elements.
func (g *Registers) initial(key uint32) uint32 { return g.first + uint32(len(g.v.WTxn)) + key }

// Anomaly translates evidence about the registers' history back to the lists. ok is false if nothing of it is left,
// which does not happen for evidence that proves something.
//
// Each edge becomes the edge that the lists show. If a chain shows the order of two writers, that order is no longer an
// assumption, and a cycle that assumes the opposite is dropped. But if session order, real time (widened by skew, ns)
// or a read demands the opposite, the demand and the chain together are the anomaly.
func (g *Registers) Anomaly(a evidence.Anomaly, l level.Level, skew int64) (back evidence.Anomaly, ok bool) {
	if len(a.Ops) > 0 || len(a.Dead) > 0 {
		return g.ofOps(a), true
	}
	var extra [][]evidence.Edge
	var whole []evidence.Edge
	cycle := func(c []evidence.Edge) []evidence.Edge {
		out := make([]evidence.Edge, 0, len(c))
		for _, e := range c {
			b, more, says := g.edge(e)
			if !says {
				if whole == nil {
					whole = g.contradiction(e, l, skew)
				}
				return nil
			}
			out = append(out, b)
			extra = append(extra, more...)
			if c := g.opposed(b, l, skew); c != nil {
				if extra = append(extra, c); whole == nil && g.v.committed(c) {
					whole = c
				}
			}
		}
		return out
	}
	back.Cycle = cycle(a.Cycle)
	back.Cycles = slice.Filter(slice.Map(a.Cycles, cycle), func(c []evidence.Edge) bool { return c != nil })
	if whole != nil {
		return evidence.Anomaly{Cycle: whole}, true
	}
	if len(back.Cycle)+len(back.Cycles) == 0 {
		return back, false
	}
	back.Cycle = g.v.plain(back.Cycle)
	for i, c := range back.Cycles {
		back.Cycles[i] = g.v.plain(c)
	}
	extra = append(extra, g.v.reasons(append([][]evidence.Edge{back.Cycle}, back.Cycles...)...)...)
	if len(back.Cycle) == 0 && len(back.Cycles) == 1 {
		back.Cycle, back.Cycles = back.Cycles[0], nil
	}
	for _, c := range extra {
		if !slices.ContainsFunc(back.Cycles, func(d []evidence.Edge) bool { return sameCycle(c, d) }) {
			back.Cycles = append(back.Cycles, c)
		}
	}
	return back, true
}

// contradiction returns the cycle of an order that an edge assumes and a chain that shows the opposite, if session
// order, real time or a read demands that order.
func (g *Registers) contradiction(e evidence.Edge, l level.Level, skew int64) []evidence.Edge {
	v := g.v
	first, then := e.From, e.To
	if e.Dep == evidence.RW {
		first = e.Writer
	}
	on, _, _ := v.precedes(then, first, e.Key)
	back := v.ww(then, first, on)
	switch {
	case l.Sessions() && v.sessionBefore(first, then):
		return []evidence.Edge{events.Bare(first, then, evidence.SO), back}
	case l.RealTime() && v.timeBefore(first, then, skew):
		return []evidence.Edge{events.Bare(first, then, evidence.RT), back}
	}
	for w := v.WOff[first]; w < v.WOff[first+1]; w++ {
		key := v.WKey[w]
		if r := v.read(then, key); r != none && v.WPos[w] < v.RSeen[r] {
			return []evidence.Edge{v.wr(first, then, key), back}
		}
		if a, ok := v.place(then, key); ok && v.WPos[w] < a {
			return []evidence.Edge{v.ww(first, then, key), back}
		}
	}
	if e, ok := g.read(first, then); ok {
		return []evidence.Edge{e, back}
	}
	return nil
}

// opposed returns the cycle of an order that an edge assumes for two writers of a register, and a list read that shows
// the opposite, if something demands that order. The register history does not show this cycle, because a list read
// shows all earlier appends, but its register read only the last writer. The certifier lets reads win against such
// demands, so the evidence must have this cycle instead.
func (g *Registers) opposed(e evidence.Edge, l level.Level, skew int64) []evidence.Edge {
	v := g.v
	first, then := e.From, e.To
	switch e.Dep {
	case evidence.WW:
	case evidence.RW:
		if v.IsList[e.Key] || e.Writer == none || e.Writer == v.H.Init {
			return nil
		}
		first = e.Writer
	default:
		return nil
	}
	back, ok := v.seen(then, first)
	if !ok {
		return nil
	}
	switch {
	case l.Sessions() && v.sessionBefore(first, then):
		return []evidence.Edge{events.Bare(first, then, evidence.SO), back}
	case l.RealTime() && v.timeBefore(first, then, skew):
		return []evidence.Edge{events.Bare(first, then, evidence.RT), back}
	}
	if forth, ok := v.seen(first, then); ok {
		return []evidence.Edge{forth, back}
	}
	if forth, ok := g.read(first, then); ok {
		return []evidence.Edge{forth, back}
	}
	return nil
}

// read returns the edge from t to u if u read a register version that only t can have written.
func (g *Registers) read(t, u uint32) (evidence.Edge, bool) {
	h := g.v.H
	for r := h.Txns.OpOff[u]; r < h.Txns.OpOff[u+1]; r++ {
		if ver := h.Ops.Ver[r]; h.Ops.Kind[r] == history.Read && g.v.wrote(t, ver) && g.only(t, ver) {
			return evidence.Edge{From: t, To: u, Dep: evidence.WR, Key: h.VerKey[ver], Ver: ver, Writer: none}, true
		}
	}
	return evidence.Edge{}, false
}

// only reports whether t alone can have written a version of a register. Then a read of it by another transaction is
// not of its own write.
func (g *Registers) only(t, ver uint32) bool {
	h := g.v.H
	if h.InitVer[h.VerKey[ver]] == ver {
		return false
	}
	for u := range uint32(h.NumTxns()) {
		if u == t || h.Txns.Status[u] == history.Aborted {
			continue
		}
		for op := range h.EachOp(u) {
			if h.Ops.Kind[op] == history.Write && h.Ops.Ver[op] == ver {
				return false
			}
		}
	}
	return true
}

// edge translates one edge. more are cycles that prove what it assumes; says is false if a chain shows the opposite.
func (g *Registers) edge(e evidence.Edge) (b evidence.Edge, more [][]evidence.Edge, says bool) {
	v := g.v
	if e.Dep == evidence.SO || e.Dep == evidence.RT {
		return e, nil, true
	}
	list := v.IsList[e.Key]
	switch e.Dep {
	case evidence.WR:
		if !list {
			return e, nil, true
		}
		if v.read(e.To, e.Key) == none {
			return v.ww(e.From, e.To, e.Key), nil, true
		}
		return v.wr(e.From, e.To, e.Key), nil, true
	case evidence.WW:
		if on, before, known := v.precedes(e.From, e.To, e.Key); known {
			if !before {
				return e, nil, false
			}
			return v.ww(e.From, e.To, on), nil, true
		}
		if list {
			return v.ww(e.From, e.To, e.Key), nil, true
		}
		return e, nil, true
	}
	if e.Writer != none && e.Writer != v.H.Init {
		on, before, known := v.precedes(e.Writer, e.To, e.Key)
		if known && !before {
			return e, nil, false
		}
		if known && !list {
			more = append(more, []evidence.Edge{
				{From: e.To, To: e.Writer, Dep: evidence.WW, Key: e.Key, Ver: e.Ver, Writer: none}, v.ww(e.Writer, e.To,
					on)})
		}
	}
	switch {
	case !list:
		return e, more, true
	case v.appended(e.From, e.To, e.Key), v.read(e.From, e.Key) == none:
		return v.ww(e.From, e.To, e.Key), more, true
	}
	return v.rw(e.From, e.To, e.Key), more, true
}

// sameCycle reports whether two cycles have the same edges, up to rotation.
func sameCycle(c, d []evidence.Edge) bool {
	if len(c) != len(d) {
		return false
	}
	for i := range d {
		if slices.Equal(c, slices.Concat(d[i:], d[:i])) {
			return true
		}
	}
	return false
}
