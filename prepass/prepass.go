// Package prepass does what every checker needs before it begins and what needs no search: it finds the anomalies of single
// reads, and reduces a history to what transactions show each other.
//
// The anomalies are internal consistency (INT of Biswas and Enea), thin-air, aborted, intermediate and future reads (errata
// V11, M5): no order of the transactions can explain them, and the graph of a paper's definition silently misses them, because
// such a read has no edge.
//
// The rest is a [View]: for every transaction that counts, the writes that it installs (the last one of each key) and the reads
// that other transactions must explain (the first one of each key, unless an own write comes before it), each with the write
// it sees.
//
// # Who counts
//
// Committed transactions count. One of unknown outcome counts if a transaction that counts can only have read from it; the
// others of unknown outcome are left out. With reads that have one possible writer this is exact, since a transaction more only
// adds constraints (errata V27); with ambiguous reads View.Open lists those whose outcome remains a choice.
package prepass

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

const none = history.None

// View is a history as its transactions saw each other. Transactions, keys and versions are the history's dense indices.
type View struct {
	H *history.History

	// Counts[t]: the transaction takes part.
	Counts []bool
	// NumCounts is the number of transactions that do, Init left out.
	NumCounts int

	// Writes. Write w installs a version of WKey[w] by transaction WTxn[w]. Writes 0..NumKeys-1 are the initial versions, with
	// WTxn = None (history.Init's writes are these too). Transaction t's own are WOff[t]:WOff[t+1]. Transactions that do not
	// count have none, but for those in Open.
	WKey, WTxn []uint32
	WVer       []uint32 // version installed; for initial versions History.InitVer
	WOff       []uint32

	// Reads. Transaction t's external reads are ROff[t]:ROff[t+1]: each saw write RW[r], or one of several: then RW[r] is
	// None and the candidates are Cand[CandOff[i]:CandOff[i+1]] with Amb[i] = r.
	RW   []uint32
	RVer []uint32
	ROp  []uint32 // the operation
	ROff []uint32

	Amb     []uint32
	CandOff []uint32
	Cand    []uint32

	// Open lists the transactions of unknown outcome that an ambiguous read could see: whether they count is a choice.
	Open []uint32
	// Dead lists those of Open that cannot count, since no transaction explains what they themselves read.
	Dead []uint32

	// Anomalies are those of single reads of transactions that count, at most MaxAnomalies.
	Anomalies []evidence.Anomaly
	// Also counts the anomalies beyond MaxAnomalies.
	Also int
}

// MaxAnomalies bounds how many anomalies of single reads are listed; the rest is counted.
const MaxAnomalies = 100

// Initial reports whether write w is an initial version.
func (v *View) Initial(w uint32) bool { return int(w) < v.H.NumKeys() }

// Ambiguous reports whether some read has several possible writers, or an outcome is open.
func (v *View) Ambiguous() bool { return len(v.Amb) > 0 || len(v.Open) > 0 }

// Run makes the view. Lists and predicates are not looked at here: their checkers do so themselves.
// Cost: linear in operations; 4 words a version and 2 a key of scratch.
func Run(h *history.History) *View {
	p := &pass{v: &View{H: h}, h: h}
	p.own()
	p.resolve()
	p.settleUnknown()
	p.finish()
	return p.v
}

type pass struct {
	v *View
	h *history.History

	// final[op]: the write is its transaction's last of the key. Bitset.
	final []uint64
	// A version's installers: instOff/inst is a CSR over versions of the transactions, committed or unknown, that install it.
	instOff, inst []uint32
	// wrote[ver] is an operation that wrote the version in vain (aborted, or overwritten by its own transaction), or None.
	wrote []uint32

	// external reads, by transaction, of committed and unknown transactions
	rOff, rOp []uint32
	// bad[t] >= 0: index into single of the first internal anomaly of an unknown transaction, which counts only if it counts.
	internal []found
}

type found struct {
	t uint32
	a evidence.Anomaly
}

func (p *pass) set(op uint32)          { p.final[op>>6] |= 1 << (op & 63) }
func (p *pass) clear(op uint32)        { p.final[op>>6] &^= 1 << (op & 63) }
func (p *pass) isFinal(op uint32) bool { return p.final[op>>6]>>(op&63)&1 != 0 }

// own walks each transaction by itself: which writes are final, which reads are external, and whether the others agree with
// the transaction's own earlier operations.
func (p *pass) own() {
	h := p.h
	n := uint32(h.NumTxns())
	p.final = make([]uint64, h.NumOps()/64+1)
	p.rOff = make([]uint32, n+1)
	p.rOp = make([]uint32, 0, h.NumOps()/2)
	stamp := make([]uint32, h.NumKeys()) // 1 + the transaction that touched the key last
	last := make([]uint32, h.NumKeys())  // its last operation on the key
	for t := range n {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			kind := h.Ops.Kind[op]
			if kind != history.Read && kind != history.Write {
				continue
			}
			ver := h.Ops.Ver[op]
			key := h.VerKey[ver]
			seen := stamp[key] == t+1
			prev := last[key]
			stamp[key], last[key] = t+1, op
			if kind == history.Write {
				if seen && h.Ops.Kind[prev] == history.Write {
					p.clear(prev)
				}
				p.set(op)
				continue
			}
			if !seen {
				p.rOp = append(p.rOp, op)
				continue
			}
			wasWrite := h.Ops.Kind[prev] == history.Write
			if wasWrite {
				last[key] = prev // a read of an own write changes nothing for the next
			}
			if h.Ops.Ver[prev] != ver && h.Txns.Status[t] != history.Aborted {
				p.internalAnomaly(t, lo, prev, op, wasWrite)
				if !wasWrite {
					last[key] = prev
				}
			}
		}
		p.rOff[t+1] = uint32(len(p.rOp))
	}
}

// internalAnomaly names a read that disagrees with the transaction's own earlier operation prev.
func (p *pass) internalAnomaly(t, lo, prev, op uint32, wasWrite bool) {
	h := p.h
	kind := level.NonRepeatableRead
	if wasWrite {
		kind = level.NotMyOwnWrite
		for q := lo; q < prev; q++ {
			if h.Ops.Kind[q] == history.Write && h.Ops.Ver[q] == h.Ops.Ver[op] {
				kind = level.NotMyLastWrite
			}
		}
	}
	ops := []uint32{prev, op}
	if wasWrite {
		ops = []uint32{op, prev}
	}
	p.internal = append(p.internal, found{t, evidence.Anomaly{Kind: kind, Txns: []uint32{t}, Ops: ops}})
}

// resolve groups writes by version, so that each read finds its possible writers.
func (p *pass) resolve() {
	h := p.h
	nv := h.NumVersions()
	p.instOff = make([]uint32, nv+1)
	p.wrote = make([]uint32, nv)
	for i := range p.wrote {
		p.wrote[i] = none
	}
	each := func(do func(t, op uint32)) {
		for t := range uint32(h.NumTxns()) {
			lo, hi := h.TxnOps(t)
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] == history.Write {
					do(t, op)
				}
			}
		}
	}
	each(func(t, op uint32) {
		ver := h.Ops.Ver[op]
		if h.Txns.Status[t] == history.Aborted || !p.isFinal(op) {
			p.wrote[ver] = op
		} else if t != h.Init {
			p.instOff[ver+1]++
		}
	})
	for i := range nv {
		p.instOff[i+1] += p.instOff[i]
	}
	p.inst = make([]uint32, p.instOff[nv])
	next := append([]uint32(nil), p.instOff[:nv]...)
	each(func(t, op uint32) {
		ver := h.Ops.Ver[op]
		if h.Txns.Status[t] != history.Aborted && p.isFinal(op) && t != h.Init {
			p.inst[next[ver]] = t
			next[ver]++
		}
	})
}

// candidates calls f for each transaction, but the reader t, that could have installed ver; None stands for the initial version.
func (p *pass) candidates(t, ver uint32, f func(w uint32)) {
	if p.h.InitVer[p.h.VerKey[ver]] == ver {
		f(none)
	}
	for _, w := range p.inst[p.instOff[ver]:p.instOff[ver+1]] {
		if w != t {
			f(w)
		}
	}
}

// settleUnknown decides which transactions of unknown outcome count: those that a counting transaction's read can only come
// from. Those that an ambiguous read could come from stay open.
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
	open := make([]bool, n)
	for i := 0; i < len(work); i++ {
		t := work[i]
		for _, op := range p.rOp[p.rOff[t]:p.rOff[t+1]] {
			k, last := 0, none
			p.candidates(t, h.Ops.Ver[op], func(w uint32) { k++; last = w })
			if k == 1 && last != none && !v.Counts[last] {
				v.Counts[last] = true
				work = append(work, last)
			}
		}
	}
	// What an ambiguous read of a counting, or of an open, transaction could come from is open.
	for i := 0; i < len(work); i++ {
		t := work[i]
		for _, op := range p.rOp[p.rOff[t]:p.rOff[t+1]] {
			p.candidates(t, h.Ops.Ver[op], func(w uint32) {
				if w != none && !v.Counts[w] && !open[w] {
					open[w] = true
					v.Open = append(v.Open, w)
					work = append(work, w)
				}
			})
		}
	}
}

// finish numbers the writes, points every read at the write it saw, and lists the anomalies of the transactions that count.
func (p *pass) finish() {
	h, v := p.h, p.v
	n := uint32(h.NumTxns())
	nk := h.NumKeys()
	part := make([]bool, n) // counts, or could
	copy(part, v.Counts)
	for _, t := range v.Open {
		part[t] = true
	}
	if h.Init != none {
		part[h.Init] = false
		v.Counts[h.Init] = false
	}
	for t := range n {
		if v.Counts[t] {
			v.NumCounts++
		}
	}
	v.WOff = make([]uint32, n+1)
	v.WKey = make([]uint32, nk, nk+len(p.inst))
	v.WTxn = make([]uint32, nk, nk+len(p.inst))
	v.WVer = make([]uint32, nk, nk+len(p.inst))
	for k := range uint32(nk) {
		v.WKey[k], v.WTxn[k], v.WVer[k] = k, none, h.InitVer[k]
	}
	// writeOf[i] is the write made for p.inst[i].
	writeOf := make([]uint32, len(p.inst))
	next := append([]uint32(nil), p.instOff[:h.NumVersions()]...)
	for t := range n {
		v.WOff[t] = uint32(len(v.WKey))
		if h.Txns.Status[t] == history.Aborted || t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] != history.Write || !p.isFinal(op) {
				continue
			}
			ver := h.Ops.Ver[op]
			if part[t] {
				writeOf[next[ver]] = uint32(len(v.WKey))
				v.WKey = append(v.WKey, h.VerKey[ver])
				v.WTxn = append(v.WTxn, t)
				v.WVer = append(v.WVer, ver)
			}
			next[ver]++
		}
	}
	v.WOff[n] = uint32(len(v.WKey))

	for _, f := range p.internal {
		if v.Counts[f.t] {
			p.report(f.a)
		} else if part[f.t] {
			v.Dead = append(v.Dead, f.t)
		}
	}
	v.ROff = make([]uint32, n+1)
	v.RW = make([]uint32, 0, len(p.rOp))
	v.ROp = make([]uint32, 0, len(p.rOp))
	v.RVer = make([]uint32, 0, len(p.rOp))
	v.CandOff = []uint32{0}
	for t := range n {
		v.ROff[t] = uint32(len(v.RW))
		if !part[t] {
			continue
		}
		for _, op := range p.rOp[p.rOff[t]:p.rOff[t+1]] {
			ver := h.Ops.Ver[op]
			k, w := 0, none
			if key := h.VerKey[ver]; h.InitVer[key] == ver {
				k, w = 1, key
			}
			for i := p.instOff[ver]; i < p.instOff[ver+1]; i++ {
				if x := p.inst[i]; x != t && part[x] {
					k++
					w = writeOf[i]
				}
			}
			if k == 0 {
				if v.Counts[t] {
					p.report(p.unexplained(t, op))
				} else {
					v.Dead = append(v.Dead, t)
				}
				continue
			}
			if k > 1 || k == 1 && w >= uint32(nk) && !v.Counts[v.WTxn[w]] {
				v.Amb = append(v.Amb, uint32(len(v.RW)))
				if h.InitVer[h.VerKey[ver]] == ver {
					v.Cand = append(v.Cand, h.VerKey[ver])
				}
				for i := p.instOff[ver]; i < p.instOff[ver+1]; i++ {
					if x := p.inst[i]; x != t && part[x] {
						v.Cand = append(v.Cand, writeOf[i])
					}
				}
				v.CandOff = append(v.CandOff, uint32(len(v.Cand)))
				w = none
			}
			v.RW = append(v.RW, w)
			v.ROp = append(v.ROp, op)
			v.RVer = append(v.RVer, ver)
		}
	}
	v.ROff[n] = uint32(len(v.RW))
}

// unexplained names a read that no transaction which could have committed explains.
func (p *pass) unexplained(t, op uint32) evidence.Anomaly {
	h := p.h
	ver := h.Ops.Ver[op]
	a := evidence.Anomaly{Kind: level.ThinAirRead, Txns: []uint32{t}, Ops: []uint32{op}}
	// The reader's own later write, installed or not, is the only writer left.
	lo, hi := h.TxnOps(t)
	for q := max(lo, op); q < hi; q++ {
		if h.Ops.Kind[q] == history.Write && h.Ops.Ver[q] == ver {
			a.Kind, a.Ops = level.FutureRead, []uint32{op, q}
			return a
		}
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

func (p *pass) report(a evidence.Anomaly) {
	if len(p.v.Anomalies) >= MaxAnomalies {
		p.v.Also++
		return
	}
	p.v.Anomalies = append(p.v.Anomalies, a)
}
