package prepass

import (
	"math"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

type pass struct {
	v *View
	h *history.History

	later struct { // of a large transaction, see ownLater
		txn  uint32
		last map[uint32]uint32 // version → its last write
	}

	// lost is a bitset of writes that a later write of their transaction overwrote; nil while there are none.
	lost []uint64
	// Writes are numbered in the order of the view, with those of unknown outcome. last[ver] is the newest write that
	// installs ver, initial if ver is its key's initial version and no transaction wrote it, or None. It has the bit
	// open if several wrote the version, the initial state included, or one of unknown outcome did. Without that bit, a
	// read of the version has one possible writer, which counts. same[w] is the write before w of the same version; nil
	// while no version has two.
	last, same []uint32
	// wrote[ver] is an operation that wrote the version but did not install it (aborted, or overwritten by its own
	// transaction), or None; nil before its first use.
	wrote []uint32

	// external reads, by transaction
	rOff, rOp, rKey, rVer []uint32

	each    bool     // Options.EachRead
	known   []bool   // Options.Count
	touched []touch  // by key; nil without predicates
	rows    []uint64 // rows of predicate writes that are their transaction's last write of the key. Bitset.
	matched []uint32 // key → 1 + the last operation that matched it
	blind   []Miss   // possible blind writes of the transaction at hand
	wroteBy []uint32 // keys that the transaction at hand wrote
	// internal are reads that disagree with their own transaction. Those of unknown outcome only matter if they count.
	internal []found
	// deaths are the dead transactions in the order in which they were found; each depends on earlier ones only. died
	// has 1 + the index of each, or nil while there are none.
	deaths []death
	died   []uint32
	// alive[w] is the newest write of w's version, from w back, whose transaction is not dead, or none; nil while there
	// are no deaths.
	alive []uint32
	most  int // Options.MaxCandidates, or all
	looks int // number of writes that candidates has looked at
}

// touch is the last operation of a transaction on a key.
type touch struct {
	stamp uint32 // 1 + the transaction
	op    uint32
	ver   uint32
	row   uint32 // the row, if the read is a predicate operation's; else none
	wrote bool
}

type found struct {
	t uint32
	a evidence.Anomaly
}

// These values occur in last besides the numbers of writes, which are below open.
const (
	open    = 1 << 31
	initial = none - 1
	// all means that there is no bound.
	all = math.MaxInt
)

// newest returns the newest write that installs ver, or none.
func (p *pass) newest(ver uint32) uint32 {
	w := p.last[ver]
	if w >= initial {
		return none
	}
	return w &^ open
}

// isOpen reports whether a read of ver may have no writer, several, or one that may not count.
func (p *pass) isOpen(ver uint32) bool { return p.last[ver]&open != 0 }

func (p *pass) isInitial(ver uint32) bool { return p.h.InitVer[p.h.VerKey[ver]] == ver }

// lose records that a later write of its transaction overwrote op.
func (p *pass) lose(op uint32) {
	if p.lost == nil {
		p.lost = make([]uint64, p.h.NumOps()/64+1)
	}
	p.lost[op>>6] |= 1 << (op & 63)
}

// isFinal reports whether op is its transaction's last write of the key.
func (p *pass) isFinal(op uint32) bool { return p.lost == nil || p.lost[op>>6]>>(op&63)&1 == 0 }

// own walks the operations of each transaction. It finds the writes that it installs and its external reads, and checks
// the other reads against its own earlier operations.
func (p *pass) own() {
	h, v := p.h, p.v
	n := uint32(h.NumTxns())
	nk, nv := h.NumKeys(), h.NumVersions()
	p.rOff = make([]uint32, n+1)
	reads, writes := p.operations()
	if nk+writes >= open {
		panic("prepass: 2³¹ writes or more")
	}
	p.rOp = make([]uint32, reads)
	p.rKey = make([]uint32, reads)
	p.rVer = make([]uint32, reads)
	v.WKey = make([]uint32, nk+writes)
	v.WTxn = make([]uint32, nk+writes)
	v.WVer = make([]uint32, nk+writes)
	v.WOff = make([]uint32, n+1)
	p.last = slices.Repeat([]uint32{none}, nv)
	for k := range uint32(nk) {
		ver := h.InitVer[k]
		v.WKey[k], v.WTxn[k], v.WVer[k] = k, none, ver
		if ver != none {
			p.last[ver] = initial
		}
	}
	if p.matched == nil {
		p.ownItems()
		return
	}
	p.rOp, p.rKey, p.rVer = p.rOp[:0], p.rKey[:0], p.rVer[:0]
	v.WKey, v.WTxn, v.WVer = v.WKey[:nk], v.WTxn[:nk], v.WVer[:nk]
	p.touched = make([]touch, nk)
	for t := range n {
		lo, hi := h.TxnOps(t)
		some := false // predicate operations
		p.wroteBy = p.wroteBy[:0]
		for op := lo; op < hi; op++ {
			switch h.Ops.Kind[op] {
			case history.Write:
				p.write(t, op, none, h.Ops.Ver[op])
			case history.Read:
				p.read(t, lo, op, none, h.Ops.Ver[op])
			case history.PredRead, history.PredWrite:
				some = true
				p.predicate(t, lo, op)
			}
		}
		if some {
			p.settlePredicates(t, lo, hi)
		}
		p.rOff[t+1] = uint32(len(p.rOp))
		v.WOff[t] = uint32(len(v.WKey))
		if h.Txns.Status[t] == history.Aborted || t == h.Init {
			continue
		}
		for op := lo; op < hi; op++ {
			if h.Ops.Kind[op] == history.Write && p.isFinal(op) {
				p.install(t, h.Ops.Ver[op])
			}
		}
		if some {
			p.installRows(t, lo, hi)
		}
	}
	v.WOff[n] = uint32(len(v.WKey))
}

// operations counts reads and writes. A predicate operation counts by its rows.
func (p *pass) operations() (reads, writes int) {
	h := p.h
	if p.matched == nil {
		for _, k := range h.Ops.Kind {
			if k == history.Read {
				reads++
			}
			if k == history.Write {
				writes++
			}
		}
		return reads, writes
	}
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted {
			continue // its predicate operations do not matter, and it has few items
		}
		for op := range h.EachOp(t) {
			switch q := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Read:
				reads++
			case history.Write:
				writes++
			case history.PredRead:
				reads += int(h.Preds.Off[q+1] - h.Preds.Off[q])
			case history.PredWrite:
				rows := int(h.Preds.Off[q+1] - h.Preds.Off[q])
				reads, writes = reads+rows, writes+rows
			}
		}
	}
	return reads, writes
}

// write handles a write of transaction t; row is its row if it is a predicate write's.
func (p *pass) write(t, op, row, ver uint32) {
	x := &p.touched[p.h.VerKey[ver]]
	if x.stamp == t+1 && x.wrote {
		if x.row == none {
			p.lose(x.op)
		} else {
			p.rows[x.row>>6] &^= 1 << (x.row & 63)
		}
	} else {
		p.wroteBy = append(p.wroteBy, p.h.VerKey[ver])
	}
	*x = touch{t + 1, op, ver, row, true}
	if row != none {
		p.rows[row>>6] |= 1 << (row & 63)
	}
}

// read handles a read of transaction t, whose operations begin at lo.
func (p *pass) read(t, lo, op, row, ver uint32) {
	key := p.h.VerKey[ver]
	x := &p.touched[key]
	if x.stamp != t+1 || p.each && !x.wrote {
		*x = touch{t + 1, op, ver, row, false}
		p.rOp = append(p.rOp, op)
		p.rKey = append(p.rKey, key)
		p.rVer = append(p.rVer, ver)
		return
	}
	if x.ver != ver && p.h.Txns.Status[t] != history.Aborted {
		p.internalAnomaly(t, lo, *x, op, key, ver)
		return
	}
	if !x.wrote {
		x.op, x.row = op, row // a read of an own write does not affect later operations
	}
}

// install numbers a write.
func (p *pass) install(t, ver uint32) {
	v := p.v
	w := uint32(len(v.WKey))
	v.WKey = append(v.WKey, p.h.VerKey[ver])
	v.WTxn = append(v.WTxn, t)
	v.WVer = append(v.WVer, ver)
	p.note(w, ver, p.h.Txns.Status[t] == history.Unknown)
}

// note makes w the newest write that installs ver.
func (p *pass) note(w, ver uint32, unknown bool) {
	before := p.newest(ver)
	if p.last[ver] != none || unknown {
		p.last[ver] = w | open
	} else {
		p.last[ver] = w
	}
	if before == none && p.same == nil {
		return
	}
	for len(p.same) < int(w) {
		p.same = append(p.same, none)
	}
	p.same = append(p.same, before)
}

// internalAnomaly returns the anomaly of a read that disagrees with the transaction's own earlier operation prev. ver
// is the version of key that op read, or none if it only shows whether a predicate holds.
func (p *pass) internalAnomaly(t, lo uint32, prev touch, op, key, ver uint32) {
	h := p.h
	kind := level.NonRepeatableRead
	ops := []uint32{prev.op, op}
	if prev.wrote {
		kind = level.NotMyOwnWrite
		ops = []uint32{op, prev.op}
		for q := lo; q < prev.op && ver != none; q++ {
			if h.Ops.Kind[q] == history.Write && h.Ops.Ver[q] == ver || h.Ops.Kind[q] == history.PredWrite &&
				p.rowWrote(q, ver) {
				kind = level.NotMyLastWrite
			}
		}
	}
	a := evidence.Anomaly{Kind: kind, Txns: []uint32{t}, Ops: ops}
	if p.h.Ops.Kind[op].Predicate() || p.h.Ops.Kind[prev.op].Predicate() {
		a.Key = key
	}
	p.internal = append(p.internal, found{t, a})
}
