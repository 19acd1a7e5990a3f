package certify

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// index has the writers and readers of the versions and keys that the evidence names. One scan over the operations
// fills it, so that no check of an edge scans the history.
type index struct {
	h      *history.History
	finals finals
	wanted []uint64            // bit set of versions
	writes map[uint32][]writer // version → its writes
	// readers are the transactions that read each wanted version; nil if no transaction has an unknown outcome.
	readers map[uint32][]uint32
	unknown bool
	// lists are the list reads of the keys in listKeys, by transactions that did not abort.
	listKeys map[uint32]bool
	lists    map[uint32][]uint32
	dead     map[uint32]bool // transactions of unknown outcome that cannot have committed; see bury
	// doubledKeys are the lists with an element that was appended more than once; computed at first use.
	doubledKeys map[uint32]bool
	place       []uint32 // transaction → place in its session; made when first asked for
	// installed are the final writes of the keys in keys (or of all keys) by transactions that did not abort, except
	// Init. truths says for which of these versions the predicates are true.
	keys      map[uint32]bool
	allKeys   bool
	installed map[uint32][]install
	truths    *predicates.Truths
}

// writer is one write or append of a version.
type writer struct {
	op, txn uint32
	final   bool // its transaction's last write of the key, or an append
}

// want asks build for the writers of a version.
func (x *index) want(v uint32) {
	if int(v) < x.h.NumVersions() {
		x.wanted[v/64] |= 1 << (v % 64)
	}
}

func (x *index) wants(v uint32) bool { return x.wanted[v/64]>>(v%64)&1 == 1 }

// wantTxn asks build for the writers of all that t read or appended.
func (x *index) wantTxn(t uint32) {
	if int(t) >= x.h.NumTxns() {
		return
	}
	for op, v := range x.h.EachOp(t) {
		switch x.h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			for _, old := range x.h.Preds.Old[x.h.Preds.Off[v]:x.h.Preds.Off[v+1]] {
				if old != history.None {
					x.want(old)
				}
			}
		case history.Read, history.Append:
			x.want(v)
		case history.ReadList:
			for _, e := range x.h.Elems(v) {
				x.want(e)
			}
		}
	}
}

// wantAnomaly asks build for all that the proof of an anomaly may need.
func (x *index) wantAnomaly(a *evidence.Anomaly) {
	n := uint32(x.h.NumTxns())
	txn := func(t uint32) {
		if t < n && x.h.Txns.Status[t] == history.Unknown {
			x.unknown = true
		}
	}
	for _, op := range a.Ops {
		if int(op) >= x.h.NumOps() {
			continue
		}
		t := x.h.TxnOf(op)
		txn(t)
		x.wantTxn(t)
		wrote(x.h, op, x.want)
		if int(a.Key) < x.h.NumKeys() && a.Kind == level.PredicateMismatch {
			x.keys[a.Key] = true
		}
	}
	for _, op := range slices.Concat(a.Dead...) {
		if int(op) < x.h.NumOps() {
			x.wantTxn(x.h.TxnOf(op))
		}
	}
	cycle := func(c []evidence.Edge) {
		for _, e := range c {
			txn(e.From)
			txn(e.To)
			switch e.Dep {
			case evidence.WR:
				x.want(e.Ver)
				x.wantTxn(e.To)
			case evidence.WW:
				x.wantTxn(e.From)
				x.wantTxn(e.To)
				x.listKeys[e.Key] = true
			case evidence.RW:
				x.want(e.Ver)
				x.wantTxn(e.From)
				x.wantTxn(e.To)
				x.wantTxn(e.Writer)
				txn(e.Writer)
			case evidence.PWR, evidence.PRW:
				x.wantTxn(e.From)
				x.wantTxn(e.To)
				x.wantTxn(e.Writer)
				txn(e.Writer)
				x.keys[e.Key] = true
			}
		}
	}
	cycle(a.Cycle)
	for _, c := range a.Cycles {
		cycle(c)
	}
}

// build scans the history and fills the index.
func (x *index) build() {
	h := x.h
	// A read with several possible writers may be of a transaction of unknown outcome that no edge names. Whether that
	// counts is part of the proof, so all of these transactions are looked up.
	for t, s := range h.Txns.Status {
		if s == history.Unknown {
			x.unknown = true
			x.wantTxn(uint32(t))
			for op := range h.EachOp(uint32(t)) {
				wrote(h, op, x.want)
			}
		}
	}
	if x.unknown {
		x.readers = make(map[uint32][]uint32)
		x.allKeys = x.truths != nil
	}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			x.op(t, op, lo, hi)
		}
	}
}

// op records an operation of t, whose operations are lo to hi.
func (x *index) op(t, op, lo, hi uint32) {
	h := x.h
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Write:
		x.write(v, op, t)
	case history.PredRead, history.PredWrite:
		x.rows(op, t)
	case history.Append:
		if x.wants(v) {
			x.writes[v] = append(x.writes[v], writer{op, t, true})
		}
	case history.Read:
		if x.unknown && x.wants(v) {
			x.readers[v] = append(x.readers[v], t)
		}
	case history.ReadList:
		if x.unknown {
			seen, _ := others(h, op, lo) // leaves out the elements of its own appends
			for _, e := range seen {
				if x.wants(e) {
					x.readers[e] = append(x.readers[e], t)
				}
			}
		}
		if k := h.Lists.Key[v]; x.listKeys[k] && h.Txns.Status[t] != history.Aborted {
			x.lists[k] = append(x.lists[k], op)
		}
	}
}

// initial is the candidate writer of the initial version, whether or not a transaction wrote it.
const initial = history.None

// candidates returns the transactions that may have installed version v as reader saw it: those that did not abort and
// have v as their final write, and initial.
func (x *index) candidates(reader, v uint32) []uint32 {
	h := x.h
	if !x.wants(v) {
		panic("certify: the writers of a version were not looked up")
	}
	var out []uint32
	if k := h.VerKey[v]; h.InitVer[k] == v {
		out = append(out, initial)
	}
	for _, w := range x.writes[v] {
		switch {
		case w.txn == reader || h.Txns.Status[w.txn] == history.Aborted || !w.final:
		case w.txn == h.Init:
			// Init's last write of a register is the initial version, added above. Its appends are initial too.
			if h.Ops.Kind[w.op] == history.Append && (len(out) == 0 || out[0] != initial) {
				out = append(out, initial)
			}
		default:
			out = append(out, w.txn)
		}
	}
	return out
}

// sessionBefore reports whether session order has a before b: both in one session, a earlier and committed.
func (x *index) sessionBefore(a, b uint32) bool {
	h := x.h
	if a == h.Init || b == h.Init || h.Txns.Sess[a] != h.Txns.Sess[b] || h.Txns.Status[a] != history.Committed {
		return false
	}
	if x.place == nil {
		x.place = h.SessionPlaces()
	}
	return x.place[a] < x.place[b]
}
