// Package lists reads the version orders from append-only lists, as Elle does, and says what they decide.
//
// # Reading the order
//
// A read of a whole list shows which transactions appended to it before, in their order; all others came after the
// read. So the reads of one key must be prefixes of each other. The longest read gives the order of all appends that
// were ever read: the key's chain of writers. Appends that no transaction read came after the chain, in an order that
// no read shows.
//
// [Read] computes for each counting transaction the lists that it appended to and its place in their chains, and the
// lists that it read and how much of the chain it saw. It also finds reads that no order explains: of elements that
// nobody appended, of aborted transactions, of parts of a transaction's appends; reads that do not end with the own
// appends, or differ within a transaction; and pairs of reads that are no prefixes of each other.
//
// # Which transactions count
//
// Committed transactions count, and a transaction of unknown outcome counts if a counting transaction read one of its
// elements. The others of unknown outcome are left out, which is exact: one more transaction only adds constraints
// (errata V27).
//
// # Deciding
//
//   - [Graph] decides without search. The known order gives a graph of begin and commit nodes (errata B3, B6), and the
//     level holds if it is acyclic. Only under snapshot isolation, where writers of a key may not be concurrent, the
//     order of unread appends matters. If an arbitrary one fails, the graph leaves the question open.
//   - [Registers] translates the history to one with registers, for the checkers that only know those: each writer of a
//     chain reads the version before its own, which forces the chain. At the levels where reads make a transaction
//     visible but appends do not, it adds no reads ([View.Blind]), and gives the chains beside the registers.
//
// # Files
//
//   - lists.go: the view, and Read; chains.go: the versions of a list as its reads show them
//   - reads.go: anomalies of single reads
//   - graph.go: the graph and its order; cycles.go: the most telling cycles
//   - registers.go: lists as registers, and evidence translated back; blind.go: the same without added reads
//   - cases.go: if elements were appended more than once, which append each read shows
//   - edges.go: evidence edges, and what shows them
//
// Experimental: this package may still change.
package lists

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

const none = history.None

// MaxAnomalies bounds the anomalies that a view lists; it counts the rest.
const MaxAnomalies = 100

// View is what a history's lists show. Transactions, keys and versions have the history's dense indices. Writes and
// reads have numbers of their own, one for each transaction and list that it appended to or read.
type View struct {
	H *history.History
	// Counts[t] says that transaction t counts. Init does not.
	Counts    []bool
	NumCounts int
	// IsList[k]: some operation appends to key k, or reads it as a list.
	IsList []bool

	// Write w is by transaction WTxn[w], which appended to key WKey[w]; WVer[w] is its last element. Transaction t has
	// the writes WOff[t]:WOff[t+1]; all that did not abort have them, even if they do not count. WPos[w] is the place
	// of w in the key's chain, None if no transaction read it.
	WTxn, WKey, WVer, WPos []uint32
	WOff                   []uint32

	// Read r is the first read of list RKey[r] by a transaction (with EachRead, every read), by operation ROp[r]. It
	// saw RSeen[r] writers of the chain. Transaction t has the reads ROff[t]:ROff[t+1], in program order.
	RKey, ROp, RSeen []uint32
	ROff             []uint32

	// Chain[KOff[k]:KOff[k+1]] are the writes of key k that some transaction read, in order.
	Chain, KOff []uint32
	// Unread[UOff[k]:UOff[k+1]] are the writes of key k, by counting transactions, that no transaction read.
	Unread, UOff []uint32
	// InitVer[k] is the last element that Init appended to list k, or None.
	InitVer []uint32

	// Anomalies are anomalies of single reads and pairs of reads that no order explains, at most MaxAnomalies. Also
	// counts the rest.
	Anomalies []evidence.Anomaly
	Also      int
	Kinds     map[level.Anomaly]int // anomalies of single reads by kind, those of Also included
	// Ambiguous says why reads do not show the order (an element read was appended twice), or is empty.
	Ambiguous string
	// Mixed says that there are registers beside the lists.
	Mixed bool
	// Open are transactions of unknown outcome that do not count, but may have written the version that a read of a
	// register saw. The view is right only if none of them committed.
	Open []uint32
}

// These are values of elemW for versions that several writes, or Init, have as an element.
const (
	elemInit = none - 1 // appended by Init
	elemMany = none - 2 // appended several times
)

type reader struct {
	v *View
	h *history.History
	o Options
	// elemW[ver] is the write that appended element ver, and elemAt[ver] its place among the elements of that write.
	// elemW may also be one of the constants above.
	elemW, elemAt []uint32
	count         []uint32 // write → how many elements
	inits         []uint32 // key → elements that Init appended
	// longest[k] is the longest read of list k by a counting transaction, without its own appends; by[k] is the
	// operation.
	longest [][]uint32
	by      []uint32
	// reads are the reads of counting transactions, in the order in which walk visits them.
	reads []seen
	work  []uint32
	told  map[[2]uint32]bool // pairs of an anomaly and its key that have been listed

	touched []touch  // by key
	writer  []uint32 // version of a register → its installer, or elemMany; nil unless needed
	openVer []uint32 // versions of registers read, with several possible writers
	bad     []bool   // key → no order explains its longest list
	doubled map[uint32]bool
}

// seen is a transaction's first read of a list; n counts its elements of other transactions.
type seen struct{ t, key, op, n uint32 }

// touch is what the current transaction did to a key.
type touch struct {
	stamp uint32 // 1 + the transaction
	own   uint32 // appends so far
	first uint32 // its first read, as an index into reader.reads, None, or unexplained
}

// unexplained marks a first read that no order explains. Later ones in its transaction are not examined.
const unexplained = none - 1

// Read computes the view of a history's lists. It ignores predicates. Cost: linear in operations and elements of lists.
func Read(h *history.History) *View { return ReadWith(h, Options{}) }

// Options are the parameters of ReadWith. The zero value is Read's.
type Options struct {
	// Blind treats an append as a write that sees nothing: two transactions that read the same state of a list may both
	// append to it, as the levels below snapshot isolation allow.
	Blind bool
	// EachRead lists every read of a list, and lets a transaction's reads differ, as read-committed does.
	EachRead bool
}

// ReadWith is Read with options.
func ReadWith(h *history.History, o Options) *View {
	r := &reader{v: &View{H: h}, h: h, o: o}
	r.writes()
	r.walk()
	r.chains()
	r.places()
	return r.v
}

// writes numbers the writes and finds the write of each element.
func (r *reader) writes() {
	h, v := r.h, r.v
	n, nk, nv := uint32(h.NumTxns()), h.NumKeys(), h.NumVersions()
	r.elemW, r.elemAt = slices.Repeat([]uint32{none}, nv), make([]uint32, nv)
	r.touched = make([]touch, nk)
	r.inits = make([]uint32, nk)
	v.IsList = make([]bool, nk)
	v.InitVer = slices.Repeat([]uint32{none}, nk)
	for _, k := range h.Lists.Key {
		v.IsList[k] = true
	}
	v.WOff = make([]uint32, n+1)
	for t := range n {
		v.WOff[t] = uint32(len(v.WTxn))
		for op := range h.EachOp(t) {
			if k := h.Ops.Kind[op]; k != history.Append {
				v.Mixed = v.Mixed || t != h.Init && (k == history.Read || k == history.Write)
				continue
			}
			ver := h.Ops.Ver[op]
			key := h.VerKey[ver]
			v.IsList[key] = true
			if h.Txns.Status[t] == history.Aborted {
				continue
			}
			w, at := elemInit, r.inits[key]
			if t == h.Init {
				r.inits[key]++
				v.InitVer[key] = ver
			} else {
				x := &r.touched[key]
				if x.stamp != t+1 {
					*x = touch{stamp: t + 1, own: uint32(len(v.WTxn))}
					v.WTxn = append(v.WTxn, t)
					v.WKey = append(v.WKey, key)
					v.WVer = append(v.WVer, ver)
					r.count = append(r.count, 0)
				}
				w, at = x.own, r.count[x.own]
				r.count[w]++
				v.WVer[w] = ver
			}
			if r.elemW[ver] != none {
				w = elemMany
			}
			r.elemW[ver], r.elemAt[ver] = w, at
		}
	}
	v.WOff[n] = uint32(len(v.WTxn))
	v.WPos = slices.Repeat([]uint32{none}, len(v.WTxn))
}

// walk visits the transactions that count, and those of unknown outcome when a read shows that they do. It compares
// their reads with their own operations and with the longest read of each list.
func (r *reader) walk() {
	h, v := r.h, r.v
	n := uint32(h.NumTxns())
	v.Counts = make([]bool, n)
	r.longest = make([][]uint32, h.NumKeys())
	r.by = slices.Repeat([]uint32{none}, h.NumKeys())
	r.told = make(map[[2]uint32]bool)
	unknown := false
	for t := range n {
		unknown = unknown || h.Txns.Status[t] == history.Unknown
	}
	if unknown && v.Mixed {
		r.registers()
	}
	clear(r.touched)
	for t := range n {
		if h.Txns.Status[t] == history.Committed && t != h.Init {
			r.counts(t)
			r.txn(t)
			for len(r.work) > 0 {
				u := r.work[len(r.work)-1]
				r.work = r.work[:len(r.work)-1]
				r.txn(u)
			}
		}
	}
	r.open()
}

// open computes View.Open.
func (r *reader) open() {
	h := r.h
	if len(r.openVer) == 0 {
		return
	}
	slices.Sort(r.openVer)
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] != history.Unknown || r.v.Counts[t] {
			continue
		}
		for op := range h.EachOp(t) {
			if h.Ops.Kind[op] != history.Write {
				continue
			}
			if _, some := slices.BinarySearch(r.openVer, h.Ops.Ver[op]); some {
				r.v.Open = append(r.v.Open, t)
				break
			}
		}
	}
}

// MayBeOpen reports whether View.Open may be nonempty: a transaction of unknown outcome writes a register. Cost: linear
// in the operations of such transactions.
func MayBeOpen(h *history.History) bool {
	for t, s := range h.Txns.Status {
		if s != history.Unknown {
			continue
		}
		if lo, hi := h.TxnOps(uint32(t)); slices.Contains(h.Ops.Kind[lo:hi], history.Write) {
			return true
		}
	}
	return false
}

func (r *reader) counts(t uint32) {
	r.v.Counts[t] = true
	r.v.NumCounts++
}

// saw makes the transactions count that appended these elements.
func (r *reader) saw(elems []uint32) {
	for _, e := range elems {
		if w := r.elemW[e]; w < elemMany {
			r.sawTxn(r.v.WTxn[w])
		}
	}
}

func (r *reader) sawTxn(t uint32) {
	if !r.v.Counts[t] && r.h.Txns.Status[t] == history.Unknown {
		r.counts(t)
		r.work = append(r.work, t)
	}
}

// registers fills writer. It leaves out writes that their transaction overwrites: a read of one is an anomaly, and
// shows nothing about the outcome.
func (r *reader) registers() {
	h := r.h
	r.writer = slices.Repeat([]uint32{none}, h.NumVersions())
	for k, ver := range h.InitVer {
		if ver != none && !r.v.IsList[k] {
			r.writer[ver] = elemMany
		}
	}
	for t := range uint32(h.NumTxns()) {
		if h.Txns.Status[t] == history.Aborted || t == h.Init {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := hi; op > lo; {
			op--
			if h.Ops.Kind[op] != history.Write || r.touched[h.OpKey(op)].stamp == t+1 {
				continue
			}
			r.touched[h.OpKey(op)].stamp = t + 1
			switch w := &r.writer[h.Ops.Ver[op]]; *w {
			case none, t:
				*w = t
			default:
				*w = elemMany
			}
		}
	}
}

// register follows a read of a register: if only one transaction can have written the version, it counts.
func (r *reader) register(op uint32) {
	ver := r.h.Ops.Ver[op]
	switch w := r.writer[ver]; {
	case w == none:
	case w != elemMany:
		r.sawTxn(w)
	default:
		r.openVer = append(r.openVer, ver)
	}
}

// txn examines the reads of a counting transaction.
func (r *reader) txn(t uint32) {
	h := r.h
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		switch h.Ops.Kind[op] {
		case history.Read:
			if r.writer != nil && r.touch(t, h.OpKey(op)).own == 0 {
				r.register(op)
			}
		case history.Write:
			r.touch(t, h.OpKey(op)).own++
		case history.Append:
			r.touch(t, h.VerKey[h.Ops.Ver[op]]).own++
		case history.ReadList:
			r.read(t, lo, op)
		}
	}
}

func (r *reader) touch(t, key uint32) *touch {
	x := &r.touched[key]
	if x.stamp != t+1 {
		*x = touch{stamp: t + 1, first: none}
	}
	return x
}

// read examines one list read.
func (r *reader) read(t, lo, op uint32) {
	h := r.h
	i := h.Ops.Ver[op]
	key := h.Lists.Key[i]
	list := h.Elems(i)
	x := r.touch(t, key)
	if x.first == unexplained {
		return
	}
	if x.own > 0 {
		var last uint32
		if list, last = r.ownSuffix(list, key, lo, op); last != none {
			kind := level.NotMyOwnWrite
			if all := h.Elems(i); len(all) > 0 && r.appendOf(t, all[len(all)-1]) < last {
				kind = level.NotMyLastWrite
			}
			r.report(evidence.Anomaly{Kind: kind, Ops: []uint32{op, last}})
			if x.first == none {
				x.first = unexplained
			}
			return
		}
	}
	if x.first != none && !r.o.EachRead {
		f := r.reads[x.first]
		if before := h.Elems(h.Ops.Ver[f.op])[:f.n]; !slices.Equal(before, list) {
			r.report(evidence.Anomaly{Kind: level.NonRepeatableRead, Ops: []uint32{f.op, op}})
			r.saw(list)
		}
		return
	}
	x.first = uint32(len(r.reads))
	r.reads = append(r.reads, seen{t, key, op, uint32(len(list))})
	longest := r.longest[key]
	n := min(len(list), len(longest))
	switch {
	case !slices.Equal(list[:n], longest[:n]):
		r.saw(list)
		r.incompatible(t, op, key, list)
		r.reads = r.reads[:x.first] // the chain does not explain it
		x.first = unexplained
	case len(list) > n:
		r.saw(list[n:])
		r.longest[key], r.by[key] = list, op
	case r.by[key] == none:
		r.longest[key], r.by[key] = list, op
	}
}

// ownSuffix returns a list without the own appends since lo. If the list does not end with these appends, last is the
// last of them.
func (r *reader) ownSuffix(list []uint32, key, lo, op uint32) (rest []uint32, last uint32) {
	h := r.h
	last = none
	n := len(list)
	for q := op; q > lo; q-- {
		if h.Ops.Kind[q-1] != history.Append || h.VerKey[h.Ops.Ver[q-1]] != key {
			continue
		}
		if last == none {
			last = q - 1
		}
		if n == 0 || list[n-1] != h.Ops.Ver[q-1] {
			return nil, last
		}
		n--
	}
	return list[:n], none
}
