package evidence

import (
	"slices"

	"isovet/history"
)

func (n *namer) placeOf(t uint32) uint32 {
	if n.place == nil {
		n.place = n.h.SessionPlaces()
	}
	return n.place[t]
}

// readFrom reports whether b read something that a and nobody else wrote.
func (n *namer) readFrom(b, a uint32) bool {
	h := n.h
	for op := range h.EachOp(b) {
		if k := h.Ops.Kind[op]; k == history.Read {
			if v := h.Ops.Ver[op]; n.writers(v) == 1 && writesVersion(h, a, v) {
				return true
			}
		} else if k == history.ReadList {
			if slices.ContainsFunc(h.Elems(h.Ops.Ver[op]), func(v uint32) bool {
				return n.writers(v) == 1 && writesVersion(h, a, v)
			}) {
				return true
			}
		}
	}
	return false
}

// writers returns the number of writes of a version, initial ones included; 2 means two or more.
func (n *namer) writers(v uint32) uint8 {
	h := n.h
	if n.wrote == nil {
		n.wrote = make([]uint8, h.NumVersions())
		for op, k := range h.Ops.Kind {
			if k == history.Write || k == history.Append {
				n.wrote[h.Ops.Ver[op]] = min(2, n.wrote[h.Ops.Ver[op]]+1)
			}
		}
		for _, v := range h.InitVer {
			if v != history.None {
				n.wrote[v] = 2
			}
		}
	}
	return n.wrote[v]
}

func writesVersion(h *history.History, t, ver uint32) bool {
	for op := range h.EachOp(t) {
		if k := h.Ops.Kind[op]; (k == history.Write || k == history.Append) && h.Ops.Ver[op] == ver {
			return true
		}
	}
	return false
}

func isList(h *history.History, t, key uint32) bool {
	for op := range h.EachOp(t) {
		if h.Ops.Kind[op] == history.Append && h.OpKey(op) == key {
			return true
		}
	}
	return false
}

// saw reports whether an operation reads version ver of key; lo is the first operation of its transaction. A list read
// reads the version of the last element that others had appended; without one, None and the initial version. A
// predicate operation reads the versions of the rows that it matched.
func saw(h *history.History, op, lo, key, ver uint32) bool {
	switch h.Ops.Kind[op] {
	case history.Read:
		return h.Ops.Ver[op] == ver
	case history.ReadList:
		if h.OpKey(op) != key {
			return false
		}
		list := ofOthers(h, op, lo)
		if len(list) == 0 {
			return ver == history.None || ver == h.InitVer[key]
		}
		return list[len(list)-1] == ver
	case history.PredRead, history.PredWrite:
		i := h.Ops.Ver[op]
		return ver != history.None && slices.Contains(h.Preds.Old[h.Preds.Off[i]:h.Preds.Off[i+1]], ver)
	}
	return false
}

// firstRead returns t's first operation that reads version ver of key (as saw defines it); None if there is none.
func firstRead(h *history.History, t, key, ver uint32) uint32 {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if saw(h, op, lo, key, ver) {
			return op
		}
	}
	return history.None
}

// lastRead returns t's last operation that reads version ver of key; None if there is none.
func lastRead(h *history.History, t, key, ver uint32) uint32 {
	lo, hi := h.TxnOps(t)
	for op := hi; op > lo; op-- {
		if saw(h, op-1, lo, key, ver) {
			return op - 1
		}
	}
	return history.None
}

func writes(h *history.History, t uint32) bool {
	lo, hi := h.TxnOps(t)
	return slices.ContainsFunc(h.Ops.Kind[lo:hi], func(k history.OpKind) bool {
		return k == history.Write || k == history.Append || k == history.PredWrite
	})
}

// sameTwo reports whether all cycles are between the same two transactions.
func sameTwo(cycles [][]Edge) bool {
	return !slices.ContainsFunc(slices.Concat(cycles...), func(e Edge) bool {
		return e.From != cycles[0][0].From && e.From != cycles[0][0].To
	})
}

// oneKey reports whether all edges of the cycles are of real time or about one key; then the operations on that key
// alone have no order in real time.
func oneKey(cycles [][]Edge) bool {
	key := history.None
	for _, e := range slices.Concat(cycles...) {
		if e.Dep == RT {
			continue
		}
		if e.Dep == SO || key != history.None && e.Key != key {
			return false
		}
		key = e.Key
	}
	return true
}
