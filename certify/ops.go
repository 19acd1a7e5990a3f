package certify

import (
	"iter"
	"slices"

	"isovet/history"
)

// rowOf returns the row of key k that a predicate operation matched, or history.None.
func rowOf(h *history.History, op, k uint32) uint32 {
	i := h.Ops.Ver[op]
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		if h.RowKey(r) == k {
			return r
		}
	}
	return history.None
}

// rowVersions returns the known versions in which a predicate operation matched row k, each once.
func rowVersions(h *history.History, op, k uint32) (out []uint32) {
	i := h.Ops.Ver[op]
	for _, v := range h.Preds.Old[h.Preds.Off[i]:h.Preds.Off[i+1]] {
		if v != history.None && h.VerKey[v] == k && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// wrote calls f with each version that an operation writes.
func wrote(h *history.History, op uint32, f func(v uint32)) {
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Write, history.Append:
		f(v)
	case history.PredWrite:
		for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
			f(h.Preds.New[r])
		}
	}
}

// writesOf goes through the versions that an operation writes.
func writesOf(h *history.History, op uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		more := true
		wrote(h, op, func(v uint32) { more = more && yield(v) })
	}
}

// writes reports whether an operation writes version v.
func writes(h *history.History, op, v uint32) (is bool) {
	wrote(h, op, func(w uint32) { is = is || w == v })
	return is
}

// writtenTo returns the version that an operation writes to k, history.None if it writes none.
func writtenTo(h *history.History, op, k uint32) uint32 {
	switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
	case history.Write, history.Append:
		if h.VerKey[v] == k {
			return v
		}
	case history.PredWrite:
		if r := rowOf(h, op, k); r != history.None {
			return h.Preds.New[r]
		}
	}
	return history.None
}

// lastWrite returns the last write or append of k in t before operation end, and the version that it wrote, or
// history.None.
func lastWrite(h *history.History, t, k, end uint32) (op, ver uint32) {
	lo, _ := h.TxnOps(t)
	for op := end; op > lo; op-- {
		if v := writtenTo(h, op-1, k); v != history.None {
			return op - 1, v
		}
	}
	return history.None, history.None
}

// finalWrite returns the last write or append of k in t.
func finalWrite(h *history.History, t, k uint32) (op, ver uint32) {
	_, hi := h.TxnOps(t)
	return lastWrite(h, t, k, hi)
}

// finals says which writes of a transaction are final. It makes a table of the transaction's keys at the first call.
type finals struct {
	h    *history.History
	txn  uint32
	last map[uint32]uint32 // key → its last write in txn
}

// is reports whether op is the last write of key k in t.
func (f *finals) is(t, k, op uint32) bool {
	if f.last == nil || f.txn != t {
		f.txn, f.last = t, make(map[uint32]uint32)
		for op := range f.h.EachOp(t) {
			wrote(f.h, op, func(v uint32) { f.last[f.h.VerKey[v]] = op })
		}
	}
	return f.last[k] == op
}

// An access is the effect of an operation on one register: the version read and the version written; history.None for
// neither.
type access struct{ op, key, saw, wrote uint32 }

// accesses yields the accesses of t to registers, in program order.
func accesses(h *history.History, t uint32) iter.Seq[access] {
	return func(yield func(access) bool) {
		for op, v := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Read:
				if !yield(access{op, h.VerKey[v], v, history.None}) {
					return
				}
			case history.Write:
				if !yield(access{op, h.VerKey[v], history.None, v}) {
					return
				}
			case history.PredRead, history.PredWrite:
				for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
					if !yield(access{op, h.RowKey(r), h.Preds.Old[r], h.Preds.New[r]}) {
						return
					}
				}
			}
		}
	}
}

// reads reports whether t reads version v of its key before any own write of the key.
func reads(h *history.History, t, v uint32) bool { return readings(h, t, v) > 0 }

// readings counts the operations by which t reads version v before any own write of its key.
func readings(h *history.History, t, v uint32) (n int) {
	for a := range accesses(h, t) {
		if a.key != h.VerKey[v] {
			continue
		}
		if a.saw == v {
			n++
		}
		if a.wrote != history.None {
			break
		}
	}
	return n
}

// readsOf calls f with each version that t reads before any own write of its key, and with each element of other
// transactions that t reads in a list.
func readsOf(h *history.History, t uint32, f func(v uint32)) {
	var own map[uint32]bool
	for a := range accesses(h, t) {
		if a.saw != history.None && !own[a.key] {
			f(a.saw)
		}
		if a.wrote != history.None {
			if own == nil {
				own = make(map[uint32]bool)
			}
			own[a.key] = true
		}
	}
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.ReadList {
			seen, _ := others(h, op, lo)
			for _, e := range seen {
				f(e)
			}
		}
	}
}

// others returns the elements of other transactions that the list read op shows: the list without the transaction's own
// appends since lo. ok is false if the list does not end with those.
func others(h *history.History, op, lo uint32) (seen []uint32, ok bool) {
	list := h.Elems(h.Ops.Ver[op])
	k := h.OpKey(op)
	n := len(list)
	for own := op; own > lo; own-- {
		if h.Ops.Kind[own-1] != history.Append || h.OpKey(own-1) != k {
			continue
		}
		if n == 0 || list[n-1] != h.Ops.Ver[own-1] {
			return nil, false
		}
		n--
	}
	return list[:n], true
}

// lastOfOthers returns the last element of a list read that another transaction appended, or None. lo is the first
// operation of the reader.
func lastOfOthers(h *history.History, op, lo uint32) uint32 {
	if seen, _ := others(h, op, lo); len(seen) > 0 {
		return seen[len(seen)-1]
	}
	return history.None
}

func listReads(h *history.History, t, k uint32) (ops []uint32) {
	for op := range h.EachOp(t) {
		if h.Ops.Kind[op] == history.ReadList && h.OpKey(op) == k {
			ops = append(ops, op)
		}
	}
	return ops
}
