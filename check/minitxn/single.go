package minitxn

import (
	"fmt"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/predicates"
)

// MultiKey says why linearizability is not defined for a history, or "" if it is: a transaction that takes effect, or
// may, has operations on two keys, or a predicate operation covers more than one. Cost: linear.
func MultiKey(h *history.History) string {
	if h.HasLists() {
		return "the history has list operations"
	}
	if h.HasPredicates() && h.NumKeys() > 1 {
		return "predicate operations span all keys; linearizability judges each key alone: use strict-serializable"
	}
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted || t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo + 1; op < hi; op++ {
			if a, b := h.OpKey(op-1), h.OpKey(op); a != b && a != none && b != none {
				return fmt.Sprintf("transaction %d has operations on %s and %s, but linearizability judges each "+
					"key alone; use strict-serializable", h.Txns.ID[t], h.KeyString(a), h.KeyString(b))
			}
		}
	}
	return ""
}

// Register is the part of a history on one key: its operations by start.
type Register struct {
	Key     uint32
	Initial uint32 // the version held at first, history.None where no operation names it
	Ops     []Op
}

// Op is a transaction on one key, as other transactions see it.
type Op struct {
	Txn         uint32
	From, Until int64 // its window
	// by the client's clock, since Until may be the end of all times; Until if there is no end
	End   int64
	Need  uint32 // the version that it read, history.None if it did not read
	Sets  uint32 // the version that it installed, history.None if it did not write
	Preds []uint32
	Maybe bool // it may not have happened: of unknown outcome
}

// Registers splits a view's history by key. The operations are sorted by start. Transactions without operations are
// left out. Cost: linear, and sorting.
func Registers(v *prepass.View, skew int64) []Register {
	h := v.H
	keys := make([]Register, h.NumKeys())
	for k := range keys {
		keys[k] = Register{Key: uint32(k), Initial: h.InitVer[k]}
	}
	take := append([]bool(nil), v.Counts...)
	for _, t := range v.Open {
		take[t] = true
	}
	froms := make([]int64, h.NumTxns())
	for t := range froms {
		froms[t], _ = h.Window(uint32(t), skew)
	}
	for _, at := range graph.SortIndex(froms) {
		t := uint32(at)
		if !take[t] || t == h.Init {
			continue
		}
		o := Op{Txn: t, Need: none, Sets: none, Maybe: h.Txns.Status[t] == history.Unknown}
		o.From, o.Until = h.Window(t, skew)
		if o.End = o.Until; !o.Maybe && h.End(t) != history.NoTime {
			o.End = h.End(t)
		}
		key := none
		if v.ROff[t] < v.ROff[t+1] {
			o.Need, key = v.RVer(v.ROff[t]), v.RKey[v.ROff[t]]
		}
		if v.WOff[t] < v.WOff[t+1] {
			o.Sets, key = v.WVer[v.WOff[t]], v.WKey[v.WOff[t]]
		}
		if v.POff != nil {
			for _, op := range v.POp[v.POff[t]:v.POff[t+1]] {
				if len(keys) == 0 {
					break // without rows: it matched everything
				}
				key = 0 // the history has one key
				if !wroteBefore(h, t, op) {
					o.Preds = append(o.Preds, op)
				}
			}
		}
		if key != none {
			keys[key].Ops = append(keys[key].Ops, o)
		}
	}
	return keys
}

// wroteBefore reports whether a transaction on one key wrote before operation op, so that op saw its own write.
func wroteBefore(h *history.History, t, op uint32) bool {
	for o := h.Txns.OpOff[t]; o < op; o++ {
		switch q := h.Ops.Ver[o]; h.Ops.Kind[o] {
		case history.Write:
			return true
		case history.PredWrite:
			if h.Preds.Off[q] < h.Preds.Off[q+1] { // it matched a row
				return true
			}
		}
	}
	return false
}

// Claims returns SearchOptions.True for a view with predicate operations: whether an operation's result agrees with a
// version of the only key.
func Claims(v *prepass.View) func(op, ver uint32) bool {
	h := v.H
	return func(op, ver uint32) bool {
		q := h.Ops.Ver[op]
		truth := v.Index.Truth(q, 0, ver)
		if h.Preds.Off[q] == h.Preds.Off[q+1] {
			return truth != predicates.True
		}
		return truth != predicates.False
	}
}
