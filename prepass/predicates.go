package prepass

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// Miss is a key of a predicate operation that does not say which version of it it saw, only whether its predicate holds: it did
// not match the key, or it is a predicate write that overwrote it blindly. It must have been based on some version of the key of
// which the predicate is not true, or not false (Vbox Eq. 5; errata V5, V16).
//
// A key that the transaction wrote before the operation, or that it reads from others at any operation, is not open: that
// decides, here, whether the predicate holds (errata V11, V13). All others are: a view does not list them, since they are as many
// as operations times keys. What the transaction writes after the operation changes nothing for it, and is no version to be
// based on.
type Miss struct{ Op, Key uint32 }

func (p *pass) isPredicate(op uint32) bool {
	k := p.h.Ops.Kind[op]
	return k == history.PredRead || k == history.PredWrite
}

// RowKey returns the key of row r of h.Preds.
func RowKey(h *history.History, r uint32) uint32 {
	if v := h.Preds.Old[r]; v != none {
		return h.VerKey[v]
	}
	return h.VerKey[h.Preds.New[r]]
}

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
	p.internal = append(p.internal, found{t, evidence.Anomaly{Kind: level.PredicateMismatch, Txns: []uint32{t}, Ops: []uint32{op}, Key: key}})
}

// predicate follows a predicate operation: what it matched at a known version is a read, and its predicate may not be false of
// that; what it did not match, or not at a known version, must agree with the transaction's own earlier writes. What its
// transaction reads from others is compared at its end.
func (p *pass) predicate(t, lo, op uint32) {
	h, truths := p.h, p.v.Truths
	q := h.Ops.Ver[op]
	aborted := h.Txns.Status[t] == history.Aborted
	from, to := h.Preds.Off[q], h.Preds.Off[q+1]
	for r := from; r < to; r++ {
		key, old := RowKey(h, r), h.Preds.Old[r]
		if aborted {
			continue
		}
		p.matched[key] = op + 1
		if old != none {
			if truths.Of(q, key, old) == predicates.False {
				p.mismatch(t, op, key)
			}
			p.read(t, lo, op, r, old)
			continue
		}
		if x := p.touched[key]; x.stamp == t+1 && x.wrote {
			if truths.Of(q, key, x.ver) == predicates.False {
				p.internalAnomaly(t, lo, x, op, key, none)
			}
		} else {
			p.blind = append(p.blind, Miss{op, key})
		}
	}
	if !aborted {
		for _, key := range p.wroteBy {
			if x := p.touched[key]; p.matched[key] != op+1 && truths.Of(q, key, x.ver) == predicates.True {
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

// settlePredicates compares, at its end, what a transaction read from others with what its predicate operations say of the same
// keys, and lists its blind rows that no read decides.
// Cost: predicate operations × external reads of the transaction.
func (p *pass) settlePredicates(t, lo, hi uint32) {
	h, truths := p.h, p.v.Truths
	blind := p.blind
	p.blind = p.blind[:0]
	if h.Txns.Status[t] == history.Aborted {
		return
	}
	reads := uint32(len(p.rOp))
	first := p.rOff[t]
	if reads > first {
		for op := lo; op < hi; op++ {
			if !p.isPredicate(op) {
				continue
			}
			q := h.Ops.Ver[op]
			for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
				if h.Preds.Old[r] != none {
					p.matched[RowKey(h, r)] = op + 1 // compared already
				} else {
					p.matched[RowKey(h, r)] = none
				}
			}
			for i := first; i < reads; i++ {
				key, ver := p.rKey[i], p.rVer[i]
				m := p.matched[key]
				if m == op+1 {
					continue
				}
				truth := truths.Of(q, key, ver)
				missed := m != none
				if missed && truth != predicates.True || !missed && truth != predicates.False || p.wroteBefore(t, lo, op, key) {
					continue
				}
				a := evidence.Anomaly{Kind: level.NonRepeatableRead, Txns: []uint32{t}, Ops: []uint32{p.rOp[i], op}, Key: key}
				if p.rOp[i] > op {
					a.Ops[0], a.Ops[1] = op, p.rOp[i]
				}
				p.internal = append(p.internal, found{t, a})
			}
			for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
				p.matched[RowKey(h, r)] = 0
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
				if RowKey(h, r) == key {
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

// rowsInVain notes what a predicate write wrote in vain.
func (p *pass) rowsInVain(t, op uint32) {
	h := p.h
	q := h.Ops.Ver[op]
	for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
		if h.Txns.Status[t] == history.Aborted || p.rows[r>>6]>>(r&63)&1 == 0 {
			p.wrote[h.Preds.New[r]] = op
		}
	}
}

// openToPredicates opens the transactions of unknown outcome that write something: a predicate operation may have missed, or
// blindly overwritten, a key because they committed (errata V27).
func (p *pass) openToPredicates(open []bool, work []uint32) []uint32 {
	v := p.v
	if p.matched == nil {
		return work
	}
	for t := range open {
		if v.Counts[t] || p.died != nil && p.died[t] > 0 || p.h.Txns.Status[t] != history.Unknown || v.WOff[t] == v.WOff[t+1] {
			continue
		}
		if p.closed {
			v.LeftOut = append(v.LeftOut, uint32(t))
			continue
		}
		open[t] = true
		v.Open = append(v.Open, uint32(t))
		work = append(work, uint32(t))
	}
	return work
}

// finishPredicates lists the predicate operations of the transactions that take part, and drops the blind rows of the others.
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
			if p.isPredicate(op) {
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
