package lists

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// report lists an anomaly, unless there are too many.
func (r *reader) report(a evidence.Anomaly) {
	if len(a.Ops) > 0 {
		slice.MakeMap(&r.v.Kinds)
		r.v.Kinds[a.Kind]++
	}
	if len(r.v.Anomalies) >= MaxAnomalies {
		r.v.Also++
		return
	}
	r.v.Anomalies = append(r.v.Anomalies, a)
}

// once reports an anomaly the first time that it is called for the pair x, y.
func (r *reader) once(a evidence.Anomaly, x, y uint32) {
	if p := [2]uint32{x, y}; !r.told[p] {
		r.told[p] = true
		r.report(a)
	}
}

// examine looks for an anomaly of a list read. After the initial elements, it must show whole transactions' appends,
// and not the reader's own. examine reports the anomaly, or that the list is ambiguous. It blames each transaction once
// per list.
func (r *reader) examine(op uint32) bool {
	h, v := r.h, r.v
	t := h.TxnOf(op)
	key := h.Lists.Key[h.Ops.Ver[op]]
	lo, _ := h.TxnOps(t)
	list, _ := r.ownSuffix(h.Elems(h.Ops.Ver[op]), key, lo, op)
	single := func(k level.Anomaly, ops ...uint32) evidence.Anomaly { return evidence.Anomaly{Kind: k, Ops: ops} }
	// First, elements that no transaction can have appended before the read.
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
		case w < elemMany && v.WTxn[w] == t || times[e] > 1: // own appends before the read are at its end too
			r.once(single(level.DuplicateElement, op), key, e)
			return true
		}
	}
	// Then, appends that are shown in part.
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

// incompatible reports a list read that is not a prefix of the longest one, and of which that is no prefix.
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
	// Both consist of whole appends, so two transactions' appends begin here.
	a, b := r.elemW[longest[i]], r.elemW[list[i]]
	if !r.o.Blind && r.isDoubled(key) { // in a doubled list the reads are facts, but no order of appends
		r.once(evidence.Anomaly{Kind: level.IncompatibleOrder, Ops: []uint32{op, r.by[key]}}, a, b)
		return
	}
	edge := func(from, to uint32) evidence.Edge {
		return evidence.Edge{From: v.WTxn[from], To: v.WTxn[to], Dep: evidence.WW, Key: key, Ver: v.WVer[to],
			Writer: none}
	}
	r.once(evidence.Anomaly{Kind: level.IncompatibleOrder, Cycle: []evidence.Edge{edge(a, b), edge(b, a)}}, a, b)
}

// isDoubled reports whether an element of the list was appended more than once, read or not. The first call examines
// all lists.
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
	for op := range h.EachOp(t) {
		if h.Ops.Kind[op] == history.Append && h.Ops.Ver[op] == e {
			return op
		}
	}
	return none
}
