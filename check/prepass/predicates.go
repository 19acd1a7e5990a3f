package prepass

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
	"isovet/predicates"
	"slices"
)

// Miss is a key of a predicate operation that shows no version of the key, only whether its predicate holds. The
// operation did not match the key, or is a predicate write that overwrote it blindly. It must have seen some version of
// the key for which the predicate is not true (or for a blind write, not false: Vbox Eq. 5; errata V5, V16).
//
// A key that the transaction wrote before the operation, or reads from others in any operation, is not open: the
// pre-pass checks there whether the predicate holds (errata V11, V13). All other keys are open. A view does not list
// them, because there are as many as operations times keys. Later writes of the transaction do not matter for the
// operation, and it cannot have seen them.
type Miss struct{ Op, Key uint32 }

// rowWrote reports whether predicate write op wrote version ver.
func (p *pass) rowWrote(op, ver uint32) bool {
	q := p.h.Ops.Ver[op]
	return slices.Contains(p.h.Preds.New[p.h.Preds.Off[q]:p.h.Preds.Off[q+1]], ver)
}

// mismatch records an anomaly of one predicate operation.
func (p *pass) mismatch(t, op, key uint32) {
	if p.each {
		return // read-committed allows it
	}
	p.internal = append(p.internal, found{t, evidence.Anomaly{Kind: level.PredicateMismatch, Txns: []uint32{t},
		Ops: []uint32{op}, Key: key}})
}

// predicate handles a predicate operation. Each row that it matched at a known version is a read, and the predicate may
// not be false for that version. Other rows, and the keys that it did not match, must agree with the transaction's own
// earlier writes. settlePredicates compares reads of other transactions at the end.
func (p *pass) predicate(t, lo, op uint32) {
	h, truths := p.h, p.v.Index
	q := h.Ops.Ver[op]
	aborted := h.Txns.Status[t] == history.Aborted
	from, to := h.Preds.Off[q], h.Preds.Off[q+1]
	places, low, width, placed := truths.Places(q)
	for r := from; r < to && !aborted; r++ {
		key, old := h.RowKey(r), h.Preds.Old[r]
		if p.matched[key] == op+1 && !p.each { // a row in two versions; read-committed judges each alone
			p.internal = append(p.internal, found{t, evidence.Anomaly{Kind: level.NonRepeatableRead, Txns: []uint32{t},
				Ops: []uint32{op, op}, Key: key}})
			continue
		}
		p.matched[key] = op + 1
		if old != none {
			if !(placed && places[old]-low < width) && truths.Truth(q, key, old) == predicates.False {
				p.mismatch(t, op, key)
			}
			p.read(t, lo, op, r, old)
			continue
		}
		if x := p.touched[key]; x.stamp == t+1 && x.wrote {
			if truths.Truth(q, key, x.ver) == predicates.False {
				p.internalAnomaly(t, lo, x, op, key, none)
			}
		} else {
			p.blind = append(p.blind, Miss{op, key})
		}
	}
	if !aborted {
		for _, key := range p.wroteBy {
			if x := p.touched[key]; p.matched[key] != op+1 && truths.Truth(q, key, x.ver) == predicates.True {
				p.internalAnomaly(t, lo, x, op, key, none)
			}
		}
	}
	if h.Ops.Kind[op] == history.PredWrite {
		for r := from; r < to; r++ {
			p.write(t, op, r, h.Preds.New[r])
		}
	}
}

// settlePredicates compares a transaction's external reads with its predicate operations on the same keys. It also
// lists the blind rows that no read decides. Cost: predicate operations × external reads of the transaction.
func (p *pass) settlePredicates(t, lo, hi uint32) {
	h, truths := p.h, p.v.Index
	blind := p.blind
	p.blind = p.blind[:0]
	// At read-committed a missed row, or an earlier read, may have changed since.
	if h.Txns.Status[t] == history.Aborted || p.each {
		return
	}
	reads := uint32(len(p.rOp))
	first := p.rOff[t]
	if reads > first {
		for op := lo; op < hi; op++ {
			if !p.h.Ops.Kind[op].Predicate() {
				continue
			}
			q := h.Ops.Ver[op]
			blind := false
			for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
				if h.Preds.Old[r] != none {
					p.matched[h.RowKey(r)] = op + 1 // compared already
				} else {
					p.matched[h.RowKey(r)] = none
					blind = true
				}
			}
			places, low, width, placed := truths.Places(q)
			placed = placed && !blind // then only versions that satisfy the predicate matter
			for i := first; i < reads; i++ {
				key, ver := p.rKey[i], p.rVer[i]
				if placed && places[ver]-low >= width {
					continue
				}
				m := p.matched[key]
				if m == op+1 {
					continue
				}
				truth := truths.Truth(q, key, ver)
				missed := m != none
				if missed && truth != predicates.True || !missed && truth != predicates.False || p.wroteBefore(t, lo,
					op, key) {
					continue
				}
				a := evidence.Anomaly{Kind: level.NonRepeatableRead, Txns: []uint32{t}, Ops: []uint32{p.rOp[i], op},
					Key: key}
				if p.rOp[i] > op {
					a.Ops[0], a.Ops[1] = op, p.rOp[i]
				}
				p.internal = append(p.internal, found{t, a})
			}
			for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
				p.matched[h.RowKey(r)] = 0
			}
		}
	}
	for _, m := range blind {
		read := false
		for i := first; i < reads && !read; i++ {
			read = p.rKey[i] == m.Key
		}
		if !read {
			p.v.Blind = append(p.v.Blind, m)
		}
	}
}

func (p *pass) wroteBefore(t, lo, op, key uint32) bool {
	h := p.h
	if x := p.touched[key]; x.stamp != t+1 || !x.wrote {
		return false
	}
	for o := lo; o < op; o++ {
		switch h.Ops.Kind[o] {
		case history.Write:
			if h.VerKey[h.Ops.Ver[o]] == key {
				return true
			}
		case history.PredWrite:
			q := h.Ops.Ver[o]
			for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
				if h.RowKey(r) == key {
					return true
				}
			}
		}
	}
	return false
}

// installRows numbers the writes by a transaction's predicate writes that are its last writes of their keys.
func (p *pass) installRows(t, lo, hi uint32) {
	h := p.h
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] != history.PredWrite {
			continue
		}
		q := h.Ops.Ver[op]
		for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
			if p.rows[r>>6]>>(r&63)&1 != 0 {
				p.install(t, h.Preds.New[r])
			}
		}
	}
}

// openToPredicates opens the outcomes of all transactions of unknown outcome that write: because such a transaction
// committed, a predicate operation may have missed a key or overwritten it blindly (errata V27).
func (p *pass) openToPredicates(open []bool, work []uint32) []uint32 {
	v := p.v
	if p.matched == nil || p.each {
		return work
	}
	for t := range open {
		if v.Counts[t] || p.h.Txns.Status[t] != history.Unknown || v.WOff[t] == v.WOff[t+1] {
			continue
		}
		if p.v.Asked.Closed {
			// This includes the dead, because the evidence of a predicate operation cannot say that a transaction is
			// dead.
			v.LeftOut = append(v.LeftOut, uint32(t))
			continue
		}
		if p.died != nil && p.died[t] > 0 {
			continue
		}
		open[t] = true
		v.Open = append(v.Open, uint32(t))
		work = append(work, uint32(t))
	}
	return work
}

// finishPredicates lists the predicate operations of the transactions that take part, and drops the blind rows of all
// others.
func (p *pass) finishPredicates(part []bool) {
	h, v := p.h, p.v
	v.POff = make([]uint32, len(part)+1)
	for t := range part {
		v.POff[t] = uint32(len(v.POp))
		if !part[t] {
			continue
		}
		for op := range h.EachOp(uint32(t)) {
			if p.h.Ops.Kind[op].Predicate() {
				v.POp = append(v.POp, op)
			}
		}
	}
	v.POff[len(part)] = uint32(len(v.POp))
	blind := v.Blind
	v.Blind = v.Blind[:0]
	for _, m := range blind {
		if part[h.TxnOf(m.Op)] && (v.Only == nil || v.Only[m]) {
			v.Blind = append(v.Blind, m)
		}
	}
}

// byKey has the writes of each key, for Bases.
type byKey struct {
	off, writes []uint32            // key → writes, initial ones left out
	left        map[uint32][]uint32 // key → versions of transactions that were left out
}

func (v *View) writesByKey() *byKey {
	first := v.H.NumKeys()
	x := &byKey{left: make(map[uint32][]uint32)}
	x.off, x.writes = graph.Group(v.WKey[first:], first)
	for i := range x.writes {
		x.writes[i] += uint32(first)
	}
	v.eachLeftOut(func(key, ver uint32) { x.left[key] = append(x.left[key], ver) })
	return x
}

// eachLeftOut calls f for all versions that the transactions of LeftOut install.
func (v *View) eachLeftOut(f func(key, ver uint32)) {
	h := v.H
	for _, t := range v.LeftOut {
		last := make(map[uint32]uint32)
		for op := range h.EachOp(t) {
			switch q := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Write:
				last[h.VerKey[q]] = q
			case history.PredWrite:
				for _, ver := range h.Preds.New[h.Preds.Off[q]:h.Preds.Off[q+1]] {
					last[h.VerKey[ver]] = ver
				}
			}
		}
		for key, ver := range last {
			f(key, ver)
		}
	}
}

// Fits reports whether a predicate operation that missed a key, or overwrote it blindly, may have seen version ver of
// it.
func (v *View) Fits(m Miss, ver uint32, missed bool) bool {
	t := v.Index.Truth(v.H.Ops.Ver[m.Op], m.Key, ver)
	return missed && t != predicates.True || !missed && t != predicates.False
}

// Missed reports whether the operation did not match the key.
func (v *View) Missed(m Miss) bool {
	h := v.H
	q := h.Ops.Ver[m.Op]
	for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
		if h.RowKey(r) == m.Key {
			return false
		}
	}
	return true
}

// Bases returns the writes by other transactions that a predicate operation may have seen, and the other writes of the
// key. The initial one comes first in its list. free says that a left-out transaction may have made a version which the
// operation saw, so that nothing follows. Cost: linear in the key's writes; the first call is linear in all.
func (v *View) Bases(m Miss) (bases, others []uint32, free bool) {
	t, missed := v.H.TxnOf(m.Op), v.Missed(m)
	put := func(w uint32) {
		if v.Fits(m, v.WVer[w], missed) {
			bases = append(bases, w)
		} else {
			others = append(others, w)
		}
	}
	put(m.Key)
	for _, w := range v.Writes(m.Key) {
		if v.WTxn[w] != t {
			put(w)
		}
	}
	for _, ver := range v.keys.left[m.Key] {
		free = free || v.Fits(m, ver, missed)
	}
	return bases, others, free
}

// LeftOutVersions returns the versions of a key that transactions of LeftOut install.
func (v *View) LeftOutVersions(key uint32) []uint32 {
	if len(v.LeftOut) == 0 {
		return nil
	}
	if v.keys == nil {
		v.keys = v.writesByKey()
	}
	return v.keys.left[key]
}

// Writes returns the writes of a key, without the initial version.
func (v *View) Writes(key uint32) []uint32 {
	if v.keys == nil {
		v.keys = v.writesByKey()
	}
	return v.keys.writes[v.keys.off[key]:v.keys.off[key+1]]
}
