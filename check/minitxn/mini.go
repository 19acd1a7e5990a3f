package minitxn

import (
	"fmt"

	"isovet/check/prepass"
	"isovet/history"
)

const none = history.None

// Outside says why a view's reads do not give the graph, or "" if they do: every write follows a read of its key, and
// every read has one possible writer ([MTC] Definitions 8 and 9, errata M4). It examines counting transactions only.
// Cost: linear, up to the first exception.
func Outside(v *prepass.View) string {
	h := v.H
	switch {
	case h.HasLists():
		return "the history has list operations"
	case h.HasPredicates():
		return "the history has predicate operations"
	case len(v.Amb) > 0:
		r := v.Amb[0]
		return fmt.Sprintf("transaction %d reads %s of key %s, which was written more than once (Definition 9)",
			h.Txns.ID[v.Reader(r)], h.ValueString(v.RVer(r)), h.KeyString(v.RKey[r]))
	case len(v.Open) > 0:
		return fmt.Sprintf("the outcome of transaction %d is unknown", h.Txns.ID[v.Open[0]])
	}
	read := lookup{v: v}
	for t := range uint32(h.NumTxns()) {
		if !v.Counts[t] {
			continue
		}
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			if read.overwritten(t, w) == none {
				return fmt.Sprintf("transaction %d writes %s without reading it first", h.Txns.ID[t],
					h.KeyString(v.WKey[w]))
			}
		}
	}
	return ""
}

// fewOps is the number of operations up to which a transaction is scanned for those on a key.
var fewOps = 32

// lookup finds a transaction's reads of a key. Its zero value with a view is ready for use.
type lookup struct {
	v *prepass.View
	// seen and owner are for a transaction with many reads: seen[key] is the write that it read, if owner[key] is its
	// number. from is 1 + the last such transaction.
	seen, owner []uint32
	from        uint32
}

// overwritten returns the write of the key that t read before it wrote w, or none. Cost: amortized over a transaction's
// writes, linear in its reads.
func (l *lookup) overwritten(t, w uint32) uint32 {
	v := l.v
	lo, hi := v.ROff[t], v.ROff[t+1]
	if hi-lo > uint32(fewOps) {
		return l.byKey(t, v.WKey[w])
	}
	for r := lo; r < hi; r++ {
		if v.RKey[r] == v.WKey[w] {
			return v.RW[r]
		}
	}
	return none
}

// byKey does the work of overwritten for a transaction with many reads.
func (l *lookup) byKey(t, k uint32) uint32 {
	v := l.v
	if l.owner == nil {
		l.seen, l.owner = make([]uint32, v.H.NumKeys()), filled(v.H.NumKeys())
	}
	if l.from != t+1 {
		l.from = t + 1
		for r := v.ROff[t+1]; r > v.ROff[t]; r-- {
			l.seen[v.RKey[r-1]], l.owner[v.RKey[r-1]] = v.RW[r-1], t
		}
	}
	if l.owner[k] != t {
		return none
	}
	return l.seen[k]
}

// Suits reports whether a history looks like one of mini-transactions by its operations: it has only reads and writes
// of registers, and every write of a committed transaction follows a read of its key in it. Cost: linear; with blind
// writes it stops at the first.
func Suits(h *history.History) bool {
	if h.HasPredicates() {
		return false
	}
	var used []uint32 // key → the last transaction of many operations that has one on it
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] != history.Committed || t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		if hi-lo > uint32(fewOps) && used == nil {
			used = filled(h.NumKeys())
		}
		for op := lo; op < hi; op++ {
			switch h.Ops.Kind[op] {
			case history.Read:
			case history.Write:
				if k := h.VerKey[h.Ops.Ver[op]]; hi-lo > uint32(fewOps) {
					if used[k] != t {
						return false
					}
				} else {
					before := op
					for before > lo && h.OpKey(before-1) != k {
						before--
					}
					if before == lo {
						return false
					}
				}
			default:
				return false
			}
			if hi-lo > uint32(fewOps) {
				used[h.OpKey(op)] = t
			}
		}
	}
	return true
}
