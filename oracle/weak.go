package oracle

import (
	"slices"

	"isovet/history"
	"isovet/level"
)

func weak(l level.Level) bool {
	return l == level.ReadCommitted || l == level.ReadAtomic || l == level.Causal
}

// source is an external read of transaction t3, an index into txns: at operation op it read key x from t1, -1 for the initial state.
type source struct {
	t3, t1  int
	op, key uint32
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
	own := map[uint32]uint32{}
	var reads []uint32
	lo, hi := h.TxnOps(w.txns[i].id)
	for op := lo; op < hi; op++ {
		k, v := h.OpKey(op), h.Ops.Ver[op]
		if h.Ops.Kind[op] == history.Write {
			own[k] = v
		} else if o, wrote := own[k]; !wrote {
			reads = append(reads, op)
		} else if o != v {
			return nil, false
		}
	}
	var choose func(n int, rf []source) ([]uint32, bool)
	choose = func(n int, rf []source) ([]uint32, bool) {
		if n == len(reads) {
			return w.weakAmong(in, i+1, rf)
		}
		op := reads[n]
		k, v := h.OpKey(op), h.Ops.Ver[op]
		for t1 := -1; t1 < len(w.txns); t1++ {
			if t1 == i || t1 >= 0 && (in>>t1&1 == 0 || w.installs(t1, k) != v) || t1 < 0 && w.initial().reg[k] != v {
				continue
			}
			if order, ok := choose(n+1, append(rf[:len(rf):len(rf)], source{i, t1, op, k})); ok {
				return order, true
			}
		}
		return nil, false
	}
	return choose(0, rf)
}

// installs returns the version of key k that the transaction installs, None if it does not write it.
func (w *world) installs(i int, k uint32) uint32 {
	last := uint32(history.None)
	lo, hi := w.h.TxnOps(w.txns[i].id)
	for op := lo; op < hi; op++ {
		if w.h.Ops.Kind[op] == history.Write && w.h.OpKey(op) == k {
			last = w.h.Ops.Ver[op]
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
			if try(placed | 1<<i) {
				return true
			}
			order = order[:len(order)-1]
		}
		return false
	}
	ok = try(0)
	return order, ok
}
