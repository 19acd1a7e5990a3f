package prepass

import (
	"math"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// candidates appends to out, which is empty, the writes of transactions other than t that a read of ver by t may have
// seen, the initial one first. If there are more than most, it takes the newest. Cost: linear in how many it appends.
func (p *pass) candidates(t, ver uint32, most int, out []uint32) []uint32 {
	if p.isInitial(ver) {
		out = append(out, p.h.VerKey[ver])
	}
	first := len(out)
	for w := p.living(p.newest(ver)); w != none && len(out) < most; w = p.living(p.before(w)) {
		p.looks++
		if p.v.WTxn[w] != t {
			out = append(out, w)
		}
	}
	slices.Reverse(out[first:])
	return out
}

// living returns the newest write of the same version, from w back, whose transaction is not known to be dead, or none.
func (p *pass) living(w uint32) uint32 {
	if w == none || p.alive == nil {
		return w
	}
	return p.alive[w]
}

// skipDead fills alive. Cost: linear in the writes.
func (p *pass) skipDead() {
	p.alive = make([]uint32, len(p.v.WKey))
	for w := range p.alive {
		p.alive[w] = uint32(w)
		if u := p.v.WTxn[w]; u != none && p.died[u] > 0 {
			p.alive[w] = p.living(p.before(uint32(w))) // numbered before w
		}
	}
}

// before returns the write before w that installed the same version, or none.
func (p *pass) before(w uint32) uint32 {
	if int(w) >= len(p.same) {
		return none
	}
	return p.same[w]
}

// settleUnknown decides which transactions of unknown outcome count: those that are the only possible writer of a
// counting transaction's read. Other possible writers of ambiguous reads stay open, unless they are dead.
func (p *pass) settleUnknown() {
	h, v := p.h, p.v
	n := uint32(h.NumTxns())
	v.Counts = make([]bool, n)
	some := false
	for t := range n {
		switch h.Txns.Status[t] {
		case history.Committed:
			v.Counts[t] = true
		case history.Unknown:
			v.Counts[t] = p.known != nil && p.known[t]
			some = true
		}
	}
	if !some {
		return
	}
	work := make([]uint32, 0, n)
	for t := range n {
		if v.Counts[t] {
			work = append(work, t)
		}
	}
	work = p.count(work)
	if p.bury(); len(p.deaths) > 0 {
		p.skipDead()
		work = p.count(work)
	}
	open := make([]bool, n)
	var cand []uint32
	work = p.openToPredicates(open, work)
	// All possible writers of ambiguous reads by counting or open transactions become open. One look at each version is
	// enough: a reader that wrote it too counts or is open already.
	var met []bool
	for i := 0; i < len(work); i++ {
		t := work[i]
		for i := p.rOff[t]; i < p.rOff[t+1]; i++ {
			ver := p.rVer[i]
			if !p.isOpen(ver) || met != nil && met[ver] {
				continue
			}
			if met == nil {
				met = make([]bool, len(p.last))
			}
			met[ver] = true
			cand = p.candidates(t, ver, all, cand[:0])
			for _, c := range cand {
				if w := v.WTxn[c]; !v.Initial(c) && !v.Counts[w] && !open[w] {
					open[w] = true
					v.Open = append(v.Open, w)
					work = append(work, w)
				}
			}
		}
	}
}

// count adds transactions that must have committed, because a transaction in work can only have read from them. All of
// work counts.
func (p *pass) count(work []uint32) []uint32 {
	v := p.v
	var cand []uint32
	for i := 0; i < len(work); i++ {
		t := work[i]
		for i := p.rOff[t]; i < p.rOff[t+1]; i++ {
			ver := p.rVer[i]
			if !p.isOpen(ver) {
				continue
			}
			cand = p.candidates(t, ver, 2, cand[:0])
			if len(cand) != 1 || v.Initial(cand[0]) {
				continue
			}
			if w := v.WTxn[cand[0]]; !v.Counts[w] {
				v.Counts[w] = true
				work = append(work, w)
			}
		}
	}
	return work
}

// finish sets the write that each read saw, and lists the anomalies of counting transactions.
func (p *pass) finish() {
	h, v := p.h, p.v
	n := uint32(h.NumTxns())
	part := make([]bool, n) // transaction → it counts, or could
	copy(part, v.Counts)
	for _, t := range v.Open {
		part[t] = true
	}
	if h.Init != none {
		part[h.Init] = false
		v.Counts[h.Init] = false
	}
	left := false // some transaction of unknown outcome takes no part
	for t := range n {
		if v.Counts[t] {
			v.NumCounts++
		}
		left = left || !part[t] && h.Txns.Status[t] == history.Unknown
	}
	for _, f := range p.internal {
		if v.Counts[f.t] {
			p.accuse(f.t, f.a)
		}
	}
	rw := make([]uint32, len(p.rOp))
	for i, ver := range p.rVer { // a separate loop, so that many loads from memory overlap
		rw[i] = p.last[ver]
	}
	// The reads to keep move to the front, never past those not yet examined.
	v.ROff = p.rOff
	rOp, rKey, rVer := p.rOp, p.rKey, p.rVer
	v.CandOff = []uint32{0}
	most := all
	if p.most < all { // look for one more than allowed, to see if there are too many
		most = max(2, p.most+1)
	}
	var cand []uint32
	lo, hi, to := uint32(0), uint32(0), uint32(0)
	for t := range n {
		lo, hi = hi, p.rOff[t+1]
		v.ROff[t] = to
		if !part[t] {
			continue
		}
		own, owns := v.WOff[t], v.WOff[t+1]-v.WOff[t]
		for i := lo; i < hi; i++ {
			w := rw[i]
			switch {
			case w&open == 0 && w-own >= owns: // the usual case: one writer, another transaction
			case w == initial:
				w = rKey[i]
			default:
				// The living candidates take part. One of unknown outcome is open, since t takes part.
				cand = p.candidates(t, rVer[i], most, cand[:0])
				switch {
				case len(cand) == 0:
					p.accuse(t, p.unexplained(t, rOp[i], rVer[i])) // t counts, or it would be dead
					continue
				case len(cand) > 1 || !v.Initial(cand[0]) && !v.Counts[v.WTxn[cand[0]]]:
					v.Amb = append(v.Amb, to)
					if !v.Crowded && len(v.Cand)+len(cand) > p.most {
						v.Crowded, v.Cand, most = true, nil, 2
						clear(v.CandOff)
					}
					if !v.Crowded {
						v.Cand = append(v.Cand, cand...)
					}
					v.CandOff = append(v.CandOff, uint32(len(v.Cand)))
					w = none
				default:
					w = cand[0]
				}
			}
			rw[to] = w
			if to != i {
				rOp[to], rKey[to], rVer[to] = rOp[i], rKey[i], rVer[i]
			}
			to++
		}
	}
	v.ROff[n] = to
	v.RW, v.RKey = rw[:to], rKey[:to]
	if len(v.Amb) > 0 {
		v.rVer = rVer[:to]
	}
	v.noteOps(rOp[:to])
	if p.matched != nil {
		p.finishPredicates(part)
	}
	if left {
		p.drop(part)
	}
}

// noteOps stores the operations of the reads, in a byte each unless a transaction has many.
func (v *View) noteOps(rOp []uint32) {
	near := make([]uint8, len(rOp))
	for t := range v.Counts {
		first := v.H.Txns.OpOff[t]
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			d := rOp[r] - first
			if d > math.MaxUint8 {
				v.rFar = rOp
				return
			}
			near[r] = uint8(d)
		}
	}
	v.rNear = near
}

// drop removes the writes of transactions that do not take part.
func (p *pass) drop(part []bool) {
	v := p.v
	id := slice.Numbers[uint32](len(v.WKey)) // old number → new
	to := uint32(p.h.NumKeys())
	for t := range part {
		lo, hi := v.WOff[t], v.WOff[t+1]
		v.WOff[t] = to
		for w := lo; w < hi && part[t]; w++ {
			id[w] = to
			v.WKey[to], v.WTxn[to], v.WVer[to] = v.WKey[w], v.WTxn[w], v.WVer[w]
			to++
		}
	}
	v.WOff[len(part)] = to
	v.WKey, v.WTxn, v.WVer = v.WKey[:to], v.WTxn[:to], v.WVer[:to]
	for i, w := range v.RW {
		if w != none {
			v.RW[i] = id[w]
		}
	}
	for i, w := range v.Cand {
		v.Cand[i] = id[w]
	}
}

// findUninstalled finds, for each version that no transaction installed, an operation that wrote it.
func (p *pass) findUninstalled() {
	h := p.h
	p.wrote = slices.Repeat([]uint32{none}, h.NumVersions())
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Write:
				if h.Txns.Status[t] == history.Aborted || !p.isFinal(op) {
					p.wrote[h.Ops.Ver[op]] = op
				}
			case history.PredWrite:
				q := h.Ops.Ver[op]
				for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
					if h.Txns.Status[t] == history.Aborted || p.rows[r>>6]>>(r&63)&1 == 0 {
						p.wrote[h.Preds.New[r]] = op
					}
				}
			}
		}
	}
}

// unexplained returns the anomaly of a read that no transaction which may have committed explains.
func (p *pass) unexplained(t, op, ver uint32) (a evidence.Anomaly) {
	h := p.h
	a = evidence.Anomaly{Kind: level.ThinAirRead, Txns: []uint32{t}, Ops: []uint32{op}}
	if p.matched != nil {
		defer func() {
			if slices.ContainsFunc(a.Ops, func(op uint32) bool { return p.h.Ops.Kind[op].Predicate() }) {
				a.Key = h.VerKey[ver]
			}
		}()
	}
	if d := p.dead(t, ver); d != nil {
		a.Kind, a.Dead, a.Txns = level.G1a, d, nil
		return a
	}
	// The reader's own later write, installed or not, is the only writer left.
	if q := p.ownLater(t, op, ver); q != none {
		a.Kind, a.Ops = level.FutureRead, []uint32{op, q}
		return a
	}
	if p.wrote == nil {
		p.findUninstalled()
	}
	if q := p.wrote[ver]; q != none {
		w := h.TxnOf(q)
		a.Txns, a.Ops = []uint32{t, w}, []uint32{op, q}
		a.Kind = level.G1b
		if h.Txns.Status[w] == history.Aborted {
			a.Kind = level.G1a
		}
	}
	return a
}

// largeTxn is the number of operations past which ownLater makes a table of a transaction's writes. Tests set it to 0.
var largeTxn uint32 = 64

// ownLater returns t's first write of version ver after op, or none. Cost: for a read, the operations after it; for all
// reads of a large transaction, all its operations once.
func (p *pass) ownLater(t, op, ver uint32) uint32 {
	h := p.h
	lo, hi := h.TxnOps(t)
	if hi-lo > largeTxn {
		if p.later.last == nil || p.later.txn != t {
			p.later.txn, p.later.last = t, map[uint32]uint32{}
			for q := lo; q < hi; q++ {
				switch v := h.Ops.Ver[q]; h.Ops.Kind[q] {
				case history.Write:
					p.later.last[v] = q
				case history.PredWrite:
					for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
						p.later.last[h.Preds.New[r]] = q
					}
				}
			}
		}
		if last, wrote := p.later.last[ver]; !wrote || last < op {
			return none
		}
	}
	for q := op; q < hi; q++ {
		if h.Ops.Kind[q] == history.Write && h.Ops.Ver[q] == ver || h.Ops.Kind[q] == history.PredWrite &&
			p.rowWrote(q, ver) {
			return q
		}
	}
	return none
}

// accuse reports an anomaly of a read by transaction t.
func (p *pass) accuse(t uint32, a evidence.Anomaly) {
	if p.h.Txns.Status[t] == history.Unknown {
		p.v.Impossible = append(p.v.Impossible, t)
	}
	slice.MakeMap(&p.v.Kinds)
	p.v.Kinds[a.Kind]++
	if len(p.v.Anomalies) >= MaxAnomalies {
		p.v.Also++
		return
	}
	p.v.Anomalies = append(p.v.Anomalies, a)
}
