package prepass

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/graph"
	"isovet/level"
	"isovet/predicates"
)

// Miss is a key of a predicate operation that does not say which version of it it saw, only whether its predicate
// holds: it did not match the key, or it is a predicate write that overwrote it blindly. It must have been based on
// some version of the key of which the predicate is not true, or not false (Vbox Eq. 5; errata V5, V16).
//
// A key that the transaction wrote before the operation, or that it reads from others at any operation, is not open:
// that decides, here, whether the predicate holds (errata V11, V13). All others are: a view does not list them, since
// they are as many as operations times keys. What the transaction writes after the operation changes nothing for it,
// and is no version to be based on.
type Miss struct{ Op, Key uint32 }

// rowWrote reports whether a predicate write wrote a version.
func (p *pass) rowWrote(op, ver uint32) bool {
	q := p.h.Ops.Ver[op]
	for r := p.h.Preds.Off[q]; r < p.h.Preds.Off[q+1]; r++ {
		if p.h.Preds.New[r] == ver {
			return true
		}
	}
	return false
}

// mismatch books an anomaly of a predicate operation by itself.
func (p *pass) mismatch(t, op, key uint32) {
	if p.each {
		return // read-committed allows it
	}
	p.internal = append(p.internal, found{t, evidence.Anomaly{Kind: level.PredicateMismatch, Txns: []uint32{t},
		Ops: []uint32{op}, Key: key}})
}

// predicate follows a predicate operation: what it matched at a known version is a read, and its predicate may not be
// false of that; what it did not match, or not at a known version, must agree with the transaction's own earlier
// writes. What its transaction reads from others is compared at its end.
func (p *pass) predicate(t, lo, op uint32) {
	h, truths := p.h, p.v.Index
	q := h.Ops.Ver[op]
	aborted := h.Txns.Status[t] == history.Aborted
	from, to := h.Preds.Off[q], h.Preds.Off[q+1]
	places, low, width, placed := truths.Places(q)
	for r := from; r < to && !aborted; r++ {
		key, old := h.RowKey(r), h.Preds.Old[r]
		if p.matched[key] == op+1 && !p.each { // one row in two versions; read-committed asks of each by itself
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

// settlePredicates compares, at its end, what a transaction read from others with what its predicate operations say of
// the same keys, and lists its blind rows that no read decides. Cost: predicate operations × external reads of the
// transaction.
func (p *pass) settlePredicates(t, lo, hi uint32) {
	h, truths := p.h, p.v.Index
	blind := p.blind
	p.blind = p.blind[:0]
	// at read-committed what was missed, or read before, may have changed
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
			placed = placed && !blind // then only what the predicate is true of matters
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

// wroteBefore reports whether the transaction wrote the key before op.
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

// installRows numbers the writes of a transaction's predicate writes that are its last of their keys.
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

// uninstalledRows notes the rows of a predicate write that were not installed.
func (p *pass) uninstalledRows(t, op uint32) {
	h := p.h
	q := h.Ops.Ver[op]
	for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
		if h.Txns.Status[t] == history.Aborted || p.rows[r>>6]>>(r&63)&1 == 0 {
			p.wrote[h.Preds.New[r]] = op
		}
	}
}

// openToPredicates opens the transactions of unknown outcome that write something: a predicate operation may have
// missed, or blindly overwritten, a key because they committed (errata V27).
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
			// The dead among them too: that one is dead is not part of the evidence of a predicate operation.
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

// finishPredicates lists the predicate operations of the transactions that take part, and drops the blind rows of the
// others.
func (p *pass) finishPredicates(part []bool) {
	h, v := p.h, p.v
	v.POff = make([]uint32, len(part)+1)
	for t := range part {
		v.POff[t] = uint32(len(v.POp))
		if !part[t] {
			continue
		}
		lo, hi := h.TxnOps(uint32(t))
		for op := lo; op < hi; op++ {
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

// byKey finds the writes of each key, for Bases.
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

// eachLeftOut calls f for what the transactions of LeftOut install.
func (v *View) eachLeftOut(f func(key, ver uint32)) {
	h := v.H
	for _, t := range v.LeftOut {
		last := make(map[uint32]uint32)
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
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

// Fits reports whether a predicate operation that missed a key (or overwrote it blindly) may have been based on its
// version ver.
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

// Bases returns the writes, of other transactions, that a predicate operation may have been based on, and the others of
// the key, the initial one first among those where it belongs. free: whether a transaction that was left out may have
// made another version to be based on, so that nothing follows. Cost: linear in the key's writes; the first call is
// linear in all.
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

// LeftOutVersions returns the versions of a key that transactions of LeftOut made.
func (v *View) LeftOutVersions(key uint32) []uint32 {
	if len(v.LeftOut) == 0 {
		return nil
	}
	if v.keys == nil {
		v.keys = v.writesByKey()
	}
	return v.keys.left[key]
}

// Writes returns the writes of a key, the initial version left out.
func (v *View) Writes(key uint32) []uint32 {
	if v.keys == nil {
		v.keys = v.writesByKey()
	}
	return v.keys.writes[v.keys.off[key]:v.keys.off[key+1]]
}
