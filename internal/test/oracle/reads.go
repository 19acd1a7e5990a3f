package oracle

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// write is one write or append operation.
type write struct {
	op, txn uint32
	final   bool // no later write of the key in its transaction; appends all stay
}

// reads holds what explain knows of single reads.
type reads struct {
	h *history.History
	// writes[v] are the writes of version v.
	writes map[uint32][]write
	// external[r][k] is a read of key k in transaction r before r's own first write of k. For lists see lists.
	external map[uint32]map[uint32]uint32
	// lists[r][k] are the elements that a list read of k in r saw of others.
	lists map[uint32]map[uint32][]uint32
	// appends[t][k] are the elements that t appended.
	appends map[uint32]map[uint32][]uint32
	// ambiguous says that a list element was appended twice.
	ambiguous bool
}

func newReads(h *history.History) *reads {
	r := &reads{h: h, writes: map[uint32][]write{}, external: map[uint32]map[uint32]uint32{},
		lists: map[uint32]map[uint32][]uint32{}, appends: map[uint32]map[uint32][]uint32{}}
	for t := range uint32(h.NumTxns()) {
		r.external[t], r.lists[t], r.appends[t] = map[uint32]uint32{}, map[uint32][]uint32{}, map[uint32][]uint32{}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			k, v := h.OpKey(op), h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Append:
				r.appends[t][k] = append(r.appends[t][k], v)
				if len(r.writes[v]) > 0 {
					r.ambiguous = true
				}
				r.writes[v] = append(r.writes[v], write{op, t, true})
			case history.Write:
				final := true
				for later := op + 1; later < hi; later++ {
					final = final && !(h.Ops.Kind[later] == history.Write && h.OpKey(later) == k)
				}
				r.writes[v] = append(r.writes[v], write{op, t, final})
			}
		}
	}
	return r
}

// scan goes through the reads of t, fills external and lists, and returns the first anomaly of single reads, if any.
func (r *reads) scan(t uint32) *evidence.Anomaly {
	h := r.h
	own := map[uint32][]uint32{} // key → own write operations so far
	first := map[uint32]uint32{} // key → first external read operation
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		k, v := h.OpKey(op), h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Write, history.Append:
			own[k] = append(own[k], op)
		case history.Read:
			if n := len(own[k]); n > 0 {
				last := own[k][n-1]
				if v == h.Ops.Ver[last] {
					continue
				}
				kind := level.NotMyOwnWrite
				for _, w := range own[k] {
					if h.Ops.Ver[w] == v {
						kind = level.NotMyLastWrite
					}
				}
				return r.anomaly(kind, op, last)
			}
			if a := r.source(t, op, k, v); a != nil {
				return a
			}
			if f, ok := first[k]; ok && h.Ops.Ver[f] != v {
				return r.anomaly(level.NonRepeatableRead, f, op)
			} else if !ok {
				first[k] = op
			}
			r.external[t][k] = v
		case history.ReadList:
			if a := r.listRead(t, op, k, own[k]); a != nil {
				return a
			}
			elems := h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
			seen := elems[:len(elems)-len(own[k])]
			if f, ok := first[k]; ok && !slices.Equal(r.lists[t][k], seen) {
				return r.anomaly(level.NonRepeatableRead, f, op)
			} else if !ok {
				first[k] = op
			}
			r.lists[t][k] = seen
		}
	}
	return nil
}

// source says what is wrong with a register read of version v in t that no own write precedes, if nothing can have been
// its source.
func (r *reads) source(t, op, k, v uint32) *evidence.Anomaly {
	if len(r.candidates(t, k, v)) > 0 {
		return nil
	}
	return r.unsourced(t, op, v)
}

// unsourced names the anomaly of a read of v that nobody's final committed write explains.
func (r *reads) unsourced(t, op, v uint32) *evidence.Anomaly {
	h := r.h
	for _, w := range r.writes[v] {
		if w.txn != t && h.Txns.Status[w.txn] != history.Aborted {
			return r.anomaly(level.G1b, op, w.op)
		}
	}
	for _, w := range r.writes[v] {
		if w.txn != t {
			return r.anomaly(level.G1a, op, w.op)
		}
	}
	for _, w := range r.writes[v] {
		return r.anomaly(level.FutureRead, op, w.op)
	}
	return r.anomaly(level.ThinAirRead, op)
}

// candidates are the transactions that may have installed the version v of k that t read; h.Init stands for the initial
// version, also where there is no initial transaction.
func (r *reads) candidates(t, k, v uint32) []uint32 {
	h := r.h
	var out []uint32
	if h.InitVer[k] == v {
		out = append(out, h.Init)
	}
	for _, w := range r.writes[v] {
		if w.txn != t && w.txn != h.Init && w.final && h.Txns.Status[w.txn] != history.Aborted {
			out = append(out, w.txn)
		}
	}
	return out
}

// listRead says what is wrong with a list read by itself: it must be whole transactions' appends, the initial
// transaction's first, and at last t's own.
func (r *reads) listRead(t, op, k uint32, own []uint32) *evidence.Anomaly {
	h := r.h
	i := h.Ops.Ver[op]
	elems := h.Lists.Elem[h.Lists.Off[i]:h.Lists.Off[i+1]]
	n := len(elems) - len(own)
	for j := range own {
		if n+j < 0 || elems[n+j] != h.Ops.Ver[own[j]] {
			kind := level.NotMyOwnWrite
			if slices.Contains(elems, h.Ops.Ver[own[0]]) {
				kind = level.NotMyLastWrite
			}
			return r.anomaly(kind, op, own[len(own)-1])
		}
	}
	times := map[uint32]int{}
	for _, e := range elems {
		if times[e]++; len(r.writes[e]) > 0 && times[e] > len(r.writes[e]) {
			return r.anomaly(level.DuplicateElement, op)
		}
	}
	seen := elems[:n]
	if h.Init != history.None {
		if first := r.appends[h.Init][k]; len(first) > 0 {
			if len(seen) < len(first) || !slices.Equal(seen[:len(first)], first) {
				return r.anomaly(level.G1b, op, r.writes[first[len(first)-1]][0].op)
			}
			seen = seen[len(first):]
		}
	}
	done := map[uint32]bool{}
	for len(seen) > 0 {
		var by *write
		for _, w := range r.writes[seen[0]] {
			if w.txn != t && h.Txns.Status[w.txn] != history.Aborted {
				by = &w
			}
		}
		if by == nil {
			return r.unsourced(t, op, seen[0])
		}
		whole := r.appends[by.txn][k]
		if done[by.txn] || len(seen) < len(whole) || !slices.Equal(seen[:len(whole)], whole) {
			return r.anomaly(level.G1b, op, by.op)
		}
		done[by.txn] = true
		seen = seen[len(whole):]
	}
	return nil
}

func (r *reads) anomaly(kind level.Anomaly, ops ...uint32) *evidence.Anomaly {
	a := &evidence.Anomaly{Kind: kind, Ops: ops}
	a.Complete(r.h, level.Serializable, 0)
	return a
}
