package oracle

import (
	"slices"

	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

func weak(l level.Level) bool {
	return l == level.ReadCommitted || l == level.ReadAtomic || l == level.Causal
}

// source is an external read of transaction t3, an index into txns: at operation op it read key x from t1, -1 for the
// initial state. Of a list, seen is what it shows of others.
type source struct {
	t3, t1  int
	op, key uint32
	ver     uint32
	list    bool
	seen    []uint32
}

// weak tries every subset of the unknown outcomes, every writer of every read, and every sequence.
func (w *world) weak() (order []uint32, ok bool) {
	for in := range uint32(1) << len(w.txns) {
		if in&w.sure == w.sure {
			if order, ok = w.weakAmong(in, 0, nil); ok {
				return order, true
			}
		}
	}
	return nil, false
}

// weakAmong chooses the writers of the reads of transaction i and those after it.
func (w *world) weakAmong(in uint32, i int, rf []source) (order []uint32, ok bool) {
	if i == len(w.txns) {
		return w.commitOrder(in, rf)
	}
	if in>>i&1 == 0 {
		return w.weakAmong(in, i+1, rf)
	}
	h := w.h
	own := map[uint32][]uint32{} // key → own writes so far
	var reads []source
	lo, hi := h.TxnOps(w.txns[i].id)
	for op := lo; op < hi; op++ {
		k, v := h.OpKey(op), h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Write, history.Append:
			own[k] = append(own[k], v)
		case history.Read:
			if n := len(own[k]); n == 0 {
				reads = append(reads, source{t3: i, op: op, key: k, ver: v})
			} else if own[k][n-1] != v {
				return nil, false
			}
		case history.PredRead, history.PredWrite:
			rows := predRows(h, op)
			for _, r := range rows {
				n := len(own[r.key])
				switch {
				case n > 0 && (r.before != history.None && own[r.key][n-1] != r.before || r.before == history.None &&
					w.of(h, v, r.key, own[r.key][n-1]) == predicates.False):
					return nil, false
				case n == 0 && r.before != history.None:
					reads = append(reads, source{t3: i, op: op, key: r.key, ver: r.before})
				}
			}
			for k, vs := range own {
				missed := !slices.ContainsFunc(rows, func(r predRow) bool { return r.key == k })
				if missed && w.of(h, v, k, vs[len(vs)-1]) == predicates.True {
					return nil, false
				}
			}
			for _, r := range rows {
				if r.after != history.None {
					own[r.key] = append(own[r.key], r.after)
				}
			}
		case history.ReadList:
			list := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
			n := len(list) - len(own[k])
			if n < 0 || !slices.Equal(list[n:], own[k]) {
				return nil, false
			}
			reads = append(reads, source{t3: i, op: op, key: k, list: true, seen: list[:n]})
		}
	}
	var choose func(n int, rf []source) ([]uint32, bool)
	choose = func(n int, rf []source) ([]uint32, bool) {
		if n == len(reads) {
			return w.weakAmong(in, i+1, rf)
		}
		r := reads[n]
		for t1 := -1; t1 < len(w.txns); t1++ {
			if t1 == i || t1 >= 0 && in>>t1&1 == 0 || !w.mayBeOf(r, t1) {
				continue
			}
			r.t1 = t1
			if order, ok := choose(n+1, append(rf[:len(rf):len(rf)], r)); ok {
				return order, true
			}
		}
		return nil, false
	}
	return choose(0, rf)
}

// mayBeOf reports whether t1 installed what r read, by itself: of a list, whether it appended the last element.
func (w *world) mayBeOf(r source, t1 int) bool {
	switch {
	case r.list && t1 < 0:
		return slices.Equal(r.seen, w.initial().list[r.key])
	case r.list:
		return len(r.seen) > 0 && w.installs(t1, r.key) == r.seen[len(r.seen)-1]
	case t1 < 0:
		return w.initial().reg[r.key] == r.ver
	}
	return w.installs(t1, r.key) == r.ver
}

// installs returns the version of key k that the transaction installs, of a list its last element; None if it does not
// write it.
func (w *world) installs(i int, k uint32) uint32 {
	last := uint32(history.None)
	lo, hi := w.h.TxnOps(w.txns[i].id)
	for op := lo; op < hi; op++ {
		if kind := w.h.Ops.Kind[op]; (kind == history.Write || kind == history.Append) && w.h.OpKey(op) == k {
			last = w.h.Ops.Ver[op]
		} else if kind == history.PredWrite {
			for _, r := range predRows(w.h, op) {
				if r.key == k && r.after != history.None {
					last = r.after
				}
			}
		}
	}
	return last
}

// commitOrder looks for a sequence that keeps sessions, reads and what the axiom demands of these sources.
func (w *world) commitOrder(in uint32, rf []source) (order []uint32, ok bool) {
	n := len(w.txns)
	before := make([]uint32, n) // who must come before
	for i, t := range w.txns {
		before[i] = t.before & in
	}
	for _, s := range rf {
		if s.t1 >= 0 {
			before[s.t3] |= 1 << s.t1
		}
	}
	past := slices.Clone(before) // sessions and reads, through any number of transactions
	for range n {
		for i := range past {
			for j := range n {
				if past[i]>>j&1 == 1 {
					past[i] |= past[j]
				}
			}
		}
	}
	for _, a := range rf {
		var visible uint32
		switch w.o.Level {
		case level.Causal:
			visible = past[a.t3]
		case level.ReadCommitted:
			for _, b := range rf {
				if b.t3 == a.t3 && b.op < a.op && b.t1 >= 0 {
					visible |= 1 << b.t1
				}
			}
		case level.ReadAtomic:
			visible = w.txns[a.t3].before & in
			for _, b := range rf {
				if b.t3 == a.t3 && b.t1 >= 0 {
					visible |= 1 << b.t1
				}
			}
		}
		for t2 := range n {
			if visible>>t2&1 == 0 || t2 == a.t1 || w.installs(t2, a.key) == history.None {
				continue
			}
			if a.t1 < 0 {
				return nil, false
			}
			before[a.t1] |= 1 << t2
		}
	}
	if !schedulable(in, before) {
		return nil, false
	}
	var try func(placed uint32) bool
	try = func(placed uint32) bool {
		if placed == in {
			return true
		}
		for i, t := range w.txns {
			if in>>i&1 == 0 || placed>>i&1 == 1 || before[i]&^placed != 0 {
				continue
			}
			order = append(order, t.id)
			if w.listsShow(order, i, rf) && try(placed|1<<i) {
				return true
			}
			order = order[:len(order)-1]
		}
		return false
	}
	ok = try(0)
	return order, ok
}

// schedulable reports whether some sequence of a subset keeps who must come before.
func schedulable(in uint32, before []uint32) bool {
	placed := uint32(0)
	for grown := true; grown; {
		grown = false
		for i := range before {
			if in>>i&1 == 1 && placed>>i&1 == 0 && before[i]&^placed == 0 {
				placed |= 1 << i
				grown = true
			}
		}
	}
	return placed == in
}

// listsShow reports whether the lists that were read from i, the last of order, are what the appends of order make of
// them.
func (w *world) listsShow(order []uint32, i int, rf []source) bool {
	h := w.h
	for _, r := range rf {
		if !r.list || r.t1 != i {
			continue
		}
		list := w.initial().list[r.key]
		for _, t := range order {
			lo, hi := h.TxnOps(t)
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] == history.Append && h.OpKey(op) == r.key {
					list = append(list, h.Ops.Ver[op])
				}
			}
		}
		if !slices.Equal(list, r.seen) {
			return false
		}
	}
	return true
}
