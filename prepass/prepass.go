// Package prepass does what every checker needs before it begins and what needs no search: it finds the anomalies of
// single reads, and reduces a history to what transactions show each other.
//
// The anomalies are internal consistency (INT of Biswas and Enea), thin-air, aborted, intermediate and future reads
// (errata V11, M5): no order of the transactions can explain them, and the graph of a paper's definition silently
// misses them, because such a read has no edge.
//
// The rest is a [View]: for every transaction that counts, the writes that it installs (the last one of each key) and
// the reads that other transactions must explain (the first one of each key, unless an own write comes before it), each
// with the write it sees.
//
// # Who counts
//
// Committed transactions count. One of unknown outcome counts if a transaction that counts can only have read from it;
// the others of unknown outcome are left out. With reads that have one possible writer this is exact, since a
// transaction more only adds constraints (errata V27); with ambiguous reads View.Open lists those whose outcome remains
// a choice.
//
// One of unknown outcome that contradicts itself, or that reads what nobody wrote that may have committed, cannot have
// committed, and so on from reader to reader: such a transaction is dead. Nobody has read from it. Where a transaction
// that counts can have read from dead ones only, that is an aborted read.
package prepass

import (
	"slices"

	"isovet/evidence"
	"isovet/graph"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

const none = history.None

// View is a history as its transactions saw each other. Transactions, keys and versions are the history's dense
// indices.
type View struct {
	H *history.History

	// Counts[t]: the transaction takes part.
	Counts []bool
	// NumCounts is the number of transactions that do, Init left out.
	NumCounts int

	// Writes. Write w installs a version of WKey[w] by transaction WTxn[w]. Writes 0..NumKeys-1 are the initial
	// versions, with WTxn = None (history.Init's writes are these too). Transaction t's own are WOff[t]:WOff[t+1].
	// Transactions that do not count have none, but for those in Open.
	WKey, WTxn []uint32
	WVer       []uint32 // version installed; for initial versions History.InitVer
	WOff       []uint32

	// Reads. Transaction t's external reads are ROff[t]:ROff[t+1]: each saw write RW[r], or one of several: then RW[r]
	// is None and the candidates are Cand[CandOff[i]:CandOff[i+1]] with Amb[i] = r.
	RW   []uint32
	RVer []uint32
	RKey []uint32
	ROp  []uint32 // the operation
	ROff []uint32

	Amb     []uint32
	CandOff []uint32
	Cand    []uint32

	// Open lists the transactions of unknown outcome that an ambiguous read could see: whether they count is a choice.
	Open []uint32
	// Predicate operations. Transaction t's are POff[t]:POff[t+1], each an operation POp[i]; nil without predicates.
	// What they matched at a known version is among the reads, what they wrote among the writes. What is left of them
	// to explain are the keys of which they only say whether their predicate holds: see predicates.go.
	POff, POp []uint32
	// Blind lists the rows that predicate writes of transactions that take part overwrote without saying which version
	// they replaced, own rows left out.
	Blind []Miss
	// Only, if set, are the only keys of predicate operations that are to be explained, Blind ones included; else all
	// are.
	Only map[Miss]bool
	// Index has the predicates' truth of versions; nil without predicates.
	Index *predicates.Index
	// LeftOut lists the transactions of unknown outcome that write, might have been seen or missed by a predicate, and
	// were left out because the caller asked for it.
	LeftOut []uint32
	// Bad is the error of a predicate that does not parse; nothing else is of use then.
	Bad error

	// Anomalies are those of single reads of transactions that count, at most MaxAnomalies.
	Anomalies []evidence.Anomaly
	// Also counts the anomalies beyond MaxAnomalies.
	Also int

	// Closed is Options.Closed.
	Closed bool
	keys   *byKey
}

// Readers returns who read each write, reads with several possible writers left out: write w was read by those
// transactions txns[i] for which i is in readers[off[w]:off[w+1]], ascending. Reads of others are left out. Cost:
// linear, two words a write and one a read.
func (v *View) Readers(txns []uint32) (off []uint32, readers []int32) {
	by := graph.NewGroups[uint32](len(v.WKey))
	for _, t := range txns {
		for _, w := range v.RW[v.ROff[t]:v.ROff[t+1]] {
			if w != none {
				by.Count(w)
			}
		}
	}
	readers = make([]int32, by.Sum())
	for i, t := range txns {
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			if w := v.RW[r]; w != none {
				readers[by.Place(w)] = int32(i)
			}
		}
	}
	return by.Off(), readers
}

// MaxAnomalies bounds how many anomalies of single reads are listed; the rest is counted.
const MaxAnomalies = 100

// Initial reports whether write w is an initial version.
func (v *View) Initial(w uint32) bool { return int(w) < v.H.NumKeys() }

// Ambiguous reports whether some read has several possible writers, or an outcome is open.
func (v *View) Ambiguous() bool { return len(v.Amb) > 0 || len(v.Open) > 0 }

// Run makes the view. Lists are not looked at here: their checkers do so themselves.
// Cost: linear in operations; one look at the version's key and one at its writer each.
func Run(h *history.History) *View { return RunWith(h, Options{}) }

// Options are the parameters of RunWith. The zero value is Run's.
type Options struct {
	// Closed leaves out the transactions of unknown outcome that could matter to predicate operations only (see
	// View.LeftOut), in place of listing them in View.Open.
	Closed bool
	// Only, if not nil, is View.Only.
	Only map[Miss]bool
	// EachRead lists every read before an own write of its key among the reads that others must explain, not only the
	// first, and lets those of one key differ: what read-committed asks.
	EachRead bool
	// Count, if not nil, says of which transactions of unknown outcome it is known that they count.
	Count []bool
}

// RunWith is Run with options.
func RunWith(h *history.History, o Options) *View {
	p := &pass{v: &View{H: h, Only: o.Only, Closed: o.Closed}, h: h, closed: o.Closed, each: o.EachRead, known: o.Count}
	if h.HasPredicates() {
		if p.v.Index, p.v.Bad = predicates.NewIndex(h); p.v.Bad != nil {
			return p.v
		}
		p.rows = make([]uint64, len(h.Preds.Old)/64+1)
		p.matched = make([]uint32, h.NumKeys())
	}
	p.own()
	p.settleUnknown()
	p.finish()
	return p.v
}

type pass struct {
	v *View
	h *history.History

	// final[op]: the write is its transaction's last of the key. Bitset.
	final []uint64
	// The writes of the view are numbered as they come, those of unknown outcome included. last[ver] is the newest that
	// installs ver, or None; same[w] the one before it of the same version (nil while no version has two).
	last, same []uint32
	// initial[ver]: ver is its key's initial version. Bitset. open[ver]: that, or several wrote it, or one of unknown
	// outcome did; a read of another version has one possible writer, which counts, or none. Bitset.
	initial, open []uint64
	// wrote[ver] is an operation that wrote the version in vain (aborted, or overwritten by its own transaction), or
	// None; nil until it is asked for.
	wrote []uint32

	// external reads, by transaction; rVer is nil without predicates
	rOff, rOp, rKey, rVer []uint32

	closed  bool
	each    bool     // Options.EachRead
	known   []bool   // Options.Count
	touched []touch  // by key
	rows    []uint64 // rows of predicate writes that are their transaction's last write of the key. Bitset.
	matched []uint32 // key → one more than the operation that matched it last
	blind   []Miss   // of the transaction at hand: what may be blind
	wroteBy []uint32 // keys that the transaction at hand wrote
	// internal are the disagreements of transactions with themselves; those of unknown outcome only matter if they
	// count.
	internal []found
	// deaths are the dead transactions in the order in which that was found, each for a reason that rests on those
	// before; died has 1 + its place for each, and is nil while there is none.
	deaths []death
	died   []uint32
}

// touch is what a transaction last did to a key.
type touch struct {
	stamp uint32 // 1 + the transaction
	op    uint32
	ver   uint32
	row   uint32 // of a predicate operation, else none
	wrote bool
}

type found struct {
	t uint32
	a evidence.Anomaly
}

func (p *pass) set(op uint32)          { p.final[op>>6] |= 1 << (op & 63) }
func (p *pass) clear(op uint32)        { p.final[op>>6] &^= 1 << (op & 63) }
func (p *pass) isFinal(op uint32) bool { return p.final[op>>6]>>(op&63)&1 != 0 }

// own walks each transaction by itself: which writes it installs, which reads are external, and whether the others
// agree with the transaction's own earlier operations.
func (p *pass) own() {
	h, v := p.h, p.v
	n := uint32(h.NumTxns())
	nk, nv := h.NumKeys(), h.NumVersions()
	p.final = make([]uint64, h.NumOps()/64+1)
	p.rOff = make([]uint32, n+1)
	reads, writes := p.operations()
	p.rOp = make([]uint32, 0, reads)
	p.rKey = make([]uint32, 0, reads)
	if p.matched != nil {
		p.rVer = make([]uint32, 0, reads)
	}
	v.WKey = make([]uint32, nk, nk+writes)
	v.WTxn = make([]uint32, nk, nk+writes)
	v.WVer = make([]uint32, nk, nk+writes)
	v.WOff = make([]uint32, n+1)
	p.last = make([]uint32, nv)
	for i := range p.last {
		p.last[i] = none
	}
	p.initial = make([]uint64, nv/64+1)
	for k := range uint32(nk) {
		ver := h.InitVer[k]
		v.WKey[k], v.WTxn[k], v.WVer[k] = k, none, ver
		if ver != none {
			p.initial[ver>>6] |= 1 << (ver & 63)
		}
	}
	p.open = slices.Clone(p.initial)
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

// operations counts reads and writes, those of predicate operations by their rows.
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
			continue // its predicate operations are not looked at, and of its items there are few
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
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

// write follows a write of the transaction, row being its row where it is a predicate write's.
func (p *pass) write(t, op, row, ver uint32) {
	x := &p.touched[p.h.VerKey[ver]]
	if x.stamp == t+1 && x.wrote {
		if x.row == none {
			p.clear(x.op)
		} else {
			p.rows[x.row>>6] &^= 1 << (x.row & 63)
		}
	} else if p.matched != nil {
		p.wroteBy = append(p.wroteBy, p.h.VerKey[ver])
	}
	*x = touch{t + 1, op, ver, row, true}
	if row == none {
		p.set(op)
	} else {
		p.rows[row>>6] |= 1 << (row & 63)
	}
}

// read follows a read of the transaction, whose operations begin at lo.
func (p *pass) read(t, lo, op, row, ver uint32) {
	key := p.h.VerKey[ver]
	x := &p.touched[key]
	if x.stamp != t+1 || p.each && !x.wrote {
		*x = touch{t + 1, op, ver, row, false}
		p.rOp = append(p.rOp, op)
		p.rKey = append(p.rKey, key)
		if p.matched != nil {
			p.rVer = append(p.rVer, ver)
		}
		return
	}
	if x.ver != ver && p.h.Txns.Status[t] != history.Aborted {
		p.internalAnomaly(t, lo, *x, op, key, ver)
		return
	}
	if !x.wrote {
		x.op, x.row = op, row // a read of an own write changes nothing for the next
	}
}

// readVer returns the version that external read i saw.
func (p *pass) readVer(i uint32) uint32 {
	if p.rVer != nil {
		return p.rVer[i]
	}
	return p.h.Ops.Ver[p.rOp[i]]
}

// install numbers a write.
func (p *pass) install(t, ver uint32) {
	v := p.v
	w := uint32(len(v.WKey))
	v.WKey = append(v.WKey, p.h.VerKey[ver])
	v.WTxn = append(v.WTxn, t)
	v.WVer = append(v.WVer, ver)
	before := p.last[ver]
	p.last[ver] = w
	if before != none || p.h.Txns.Status[t] == history.Unknown {
		p.open[ver>>6] |= 1 << (ver & 63)
	}
	if before == none && p.same == nil {
		return
	}
	for len(p.same) < int(w) {
		p.same = append(p.same, none)
	}
	p.same = append(p.same, before)
}

// internalAnomaly names a read that disagrees with the transaction's own earlier operation prev.
// ver is the version of key that op read, none where it only shows whether a predicate holds.
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
	if p.isPredicate(op) || p.isPredicate(prev.op) {
		a.Key = key
	}
	p.internal = append(p.internal, found{t, a})
}

// isOpen is open[ver].
func (p *pass) isOpen(ver uint32) bool { return p.open[ver>>6]>>(ver&63)&1 != 0 }

// candidates appends the writes, of transactions other than t, that a read of ver by t could have seen, the initial one
// first.
func (p *pass) candidates(t, ver uint32, out []uint32) []uint32 {
	if p.initial[ver>>6]>>(ver&63)&1 != 0 {
		out = append(out, p.h.VerKey[ver])
	}
	first := len(out)
	for w := p.last[ver]; w != none; {
		if u := p.v.WTxn[w]; u != t && (p.died == nil || p.died[u] == 0) {
			out = append(out, w)
		}
		w = p.before(w)
	}
	slices.Reverse(out[first:])
	return out
}

// before returns the write that installed the same version and is numbered before w, or none.
func (p *pass) before(w uint32) uint32 {
	if int(w) >= len(p.same) {
		return none
	}
	return p.same[w]
}

// settleUnknown decides which transactions of unknown outcome count: those that a counting transaction's read can only
// come from. Those that an ambiguous read could come from stay open, unless they are dead.
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
		work = p.count(work)
	}
	open := make([]bool, n)
	var cand []uint32
	work = p.openToPredicates(open, work)
	// What an ambiguous read of a counting, or of an open, transaction could come from is open.
	for i := 0; i < len(work); i++ {
		t := work[i]
		for i := p.rOff[t]; i < p.rOff[t+1]; i++ {
			ver := p.readVer(i)
			if !p.isOpen(ver) {
				continue
			}
			cand = p.candidates(t, ver, cand[:0])
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

// count adds the transactions that can only have committed, given those in work, all that count.
func (p *pass) count(work []uint32) []uint32 {
	v := p.v
	var cand []uint32
	for i := 0; i < len(work); i++ {
		t := work[i]
		for i := p.rOff[t]; i < p.rOff[t+1]; i++ {
			ver := p.readVer(i)
			if !p.isOpen(ver) {
				continue
			}
			cand = p.candidates(t, ver, cand[:0])
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

// finish points every read at the write it saw, and lists the anomalies of the transactions that count.
func (p *pass) finish() {
	h, v := p.h, p.v
	n := uint32(h.NumTxns())
	part := make([]bool, n) // counts, or could
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
			p.report(f.a)
		}
	}
	v.RW = make([]uint32, 0, len(p.rOp))
	v.RVer = make([]uint32, 0, len(p.rOp))
	// What is kept moves to the front, never past what is still to be looked at.
	v.ROff, v.ROp, v.RKey = p.rOff, p.rOp[:0], p.rKey[:0]
	v.CandOff = []uint32{0}
	var cand []uint32
	lo, hi := uint32(0), uint32(0)
	for t := range n {
		lo, hi = hi, p.rOff[t+1]
		v.ROff[t] = uint32(len(v.RW))
		if !part[t] {
			continue
		}
		for i := lo; i < hi; i++ {
			op := p.rOp[i]
			ver := p.readVer(i)
			w := p.last[ver]
			if w == none || w >= v.WOff[t] && w < v.WOff[t+1] || p.isOpen(ver) {
				cand = p.candidates(t, ver, cand[:0])
				if left {
					cand = slices.DeleteFunc(cand, func(c uint32) bool { return !v.Initial(c) && !part[v.WTxn[c]] })
				}
				switch {
				case len(cand) == 0:
					p.report(p.unexplained(t, op, ver)) // t counts, or it were dead
					continue
				case len(cand) > 1 || !v.Initial(cand[0]) && !v.Counts[v.WTxn[cand[0]]]:
					v.Amb = append(v.Amb, uint32(len(v.RW)))
					v.Cand = append(v.Cand, cand...)
					v.CandOff = append(v.CandOff, uint32(len(v.Cand)))
					w = none
				default:
					w = cand[0]
				}
			}
			v.RW = append(v.RW, w)
			v.ROp = append(v.ROp, op)
			v.RVer = append(v.RVer, ver)
			v.RKey = append(v.RKey, p.rKey[i])
		}
	}
	v.ROff[n] = uint32(len(v.RW))
	if p.matched != nil {
		p.finishPredicates(part)
	}
	if left {
		p.drop(part)
	}
}

// drop removes the writes of transactions that take no part.
func (p *pass) drop(part []bool) {
	v := p.v
	id := make([]uint32, len(v.WKey)) // old number → new
	k := p.h.NumKeys()
	for w := range id {
		id[w] = uint32(w)
	}
	to := uint32(k)
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

// inVain fills wrote.
func (p *pass) inVain() {
	h := p.h
	p.wrote = make([]uint32, h.NumVersions())
	for i := range p.wrote {
		p.wrote[i] = none
	}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			switch h.Ops.Kind[op] {
			case history.Write:
				if h.Txns.Status[t] == history.Aborted || !p.isFinal(op) {
					p.wrote[h.Ops.Ver[op]] = op
				}
			case history.PredWrite:
				p.rowsInVain(t, op)
			}
		}
	}
}

// unexplained names a read that no transaction which could have committed explains.
func (p *pass) unexplained(t, op, ver uint32) (a evidence.Anomaly) {
	h := p.h
	a = evidence.Anomaly{Kind: level.ThinAirRead, Txns: []uint32{t}, Ops: []uint32{op}}
	if p.matched != nil {
		defer func() {
			if slices.ContainsFunc(a.Ops, p.isPredicate) {
				a.Key = h.VerKey[ver]
			}
		}()
	}
	if d := p.dead(t, ver); d != nil {
		a.Kind, a.Dead, a.Txns = level.G1a, d, nil
		return a
	}
	// The reader's own later write, installed or not, is the only writer left.
	_, hi := h.TxnOps(t)
	for q := op; q < hi; q++ {
		if h.Ops.Kind[q] == history.Write && h.Ops.Ver[q] == ver || h.Ops.Kind[q] == history.PredWrite &&
			p.rowWrote(q, ver) {
			a.Kind, a.Ops = level.FutureRead, []uint32{op, q}
			return a
		}
	}
	if p.wrote == nil {
		p.inVain()
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
