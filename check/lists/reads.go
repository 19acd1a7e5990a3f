package lists

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// report lists an anomaly, unless there are too many.
func (r *reader) report(a evidence.Anomaly) {
	if len(a.Ops) > 0 {
		if r.v.Kinds == nil {
			r.v.Kinds = map[level.Anomaly]int{}
		}
		r.v.Kinds[a.Kind]++
	}
	if len(r.v.Anomalies) >= MaxAnomalies {
		r.v.Also++
		return
	}
	r.v.Anomalies = append(r.v.Anomalies, a)
}

// once reports an anomaly that concerns an operation, or a pair, for the first time only.
func (r *reader) once(a evidence.Anomaly, x, y uint32) {
	if p := [2]uint32{x, y}; !r.told[p] {
		r.told[p] = true
		r.report(a)
	}
}

// examine finds what is wrong with a list read that is not, after the initial elements, whole transactions' appends
// without the reader's own. It reports it, or that the list is ambiguous. Each culprit is reported once a list.
func (r *reader) examine(op uint32) bool {
	h, v := r.h, r.v
	t := h.TxnOf(op)
	key := h.Lists.Key[h.Ops.Ver[op]]
	lo, _ := h.TxnOps(t)
	list, _ := r.ownSuffix(h.Elems(h.Ops.Ver[op]), key, lo, op)
	single := func(k level.Anomaly, ops ...uint32) evidence.Anomaly { return evidence.Anomaly{Kind: k, Ops: ops} }
	// Elements that nobody can have appended before.
	times := make(map[uint32]int, len(list))
	for _, e := range list {
		times[e]++
	}
	for _, e := range list {
		switch w := r.elemW[e]; {
		case w == elemMany:
			if v.Ambiguous == "" {
				v.Ambiguous = fmt.Sprintf("transaction %d reads %s in list %s, which was appended more than once",
					h.Txns.ID[t], h.ValueString(e), h.KeyString(key))
			}
			return true
		case w == none:
			if by := r.aborted(e); by != none {
				r.once(single(level.G1a, op, by), key, e)
			} else {
				r.once(single(level.ThinAirRead, op), key, e)
			}
			return true
		case w < elemMany && v.WTxn[w] == t && r.appendOf(t, e) > op:
			r.once(single(level.FutureRead, op, r.appendOf(t, e)), op, e)
			return true
		case w < elemMany && v.WTxn[w] == t || times[e] > 1: // an own append before the read is at its end as well
			r.once(single(level.DuplicateElement, op), key, e)
			return true
		}
	}
	// Appends that are not shown whole.
	torn := func(by uint32, e uint32) bool {
		r.once(single(level.G1b, op, r.appendOf(by, e)), op, by)
		return true
	}
	inits := int(r.inits[key])
	for i := range inits {
		if i >= len(list) || r.elemW[list[i]] != elemInit || r.elemAt[list[i]] != uint32(i) {
			return torn(h.Init, v.InitVer[key])
		}
	}
	for i := inits; i < len(list); {
		w := r.elemW[list[i]]
		if w == elemInit {
			return torn(h.Init, v.InitVer[key])
		}
		for j := range int(r.count[w]) {
			if i+j >= len(list) || r.elemW[list[i+j]] != w || r.elemAt[list[i+j]] != uint32(j) {
				return torn(v.WTxn[w], list[i])
			}
		}
		i += int(r.count[w])
	}
	return false
}

// incompatible handles a list read that is no prefix of the longest one, nor it of that.
func (r *reader) incompatible(t, op, key uint32, list []uint32) {
	v := r.v
	if r.examine(op) || r.examine(r.by[key]) {
		return
	}
	longest := r.longest[key]
	i := 0
	for list[i] == longest[i] {
		i++
	}
	// Both are made of whole appends; so two transactions' begin here.
	a, b := r.elemW[longest[i]], r.elemW[list[i]]
	if !r.o.Blind && r.isDoubled(key) { // then no order of appends is a fact by itself, and the two reads are
		r.once(evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: []uint32{op, r.by[key]}}, a, b)
		return
	}
	edge := func(from, to uint32) evidence.Edge {
		return evidence.Edge{From: v.WTxn[from], To: v.WTxn[to], Dep: evidence.WW, Key: key, Ver: v.WVer[to],
			Writer: none}
	}
	r.once(evidence.Anomaly{Kind: level.IncompatibleOrder, Cycle: []evidence.Edge{edge(a, b), edge(b, a)}}, a, b)
}

// isDoubled reports whether an element of the list was appended more than once, read or not. All lists are looked at
// when the first is asked for.
func (r *reader) isDoubled(key uint32) bool {
	if r.doubled == nil {
		r.doubled = make(map[uint32]bool)
		for ver, w := range r.elemW {
			if w == elemMany {
				r.doubled[r.h.VerKey[ver]] = true
			}
		}
	}
	return r.doubled[key]
}

// aborted returns an append of the element by an aborted transaction, or None.
func (r *reader) aborted(e uint32) uint32 {
	h := r.h
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted {
			if op := r.appendOf(t, e); op != none {
				return op
			}
		}
	}
	return none
}

// appendOf returns t's append of an element.
func (r *reader) appendOf(t, e uint32) uint32 {
	h := r.h
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.Append && h.Ops.Ver[op] == e {
			return op
		}
	}
	return none
}
