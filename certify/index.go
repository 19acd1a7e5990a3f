package certify

import (
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// index knows, for the versions and keys that the evidence names, who wrote and who read them. It is made by one scan over the
// operations, so that checking an edge never scans the history.
type index struct {
	h      *history.History
	wanted []uint64            // bit set of versions
	writes map[uint32][]writer // version → its writes
	// readers are the reads of versions that transactions of unknown outcome wrote; nil where the evidence names none.
	readers map[uint32][]uint32
	unknown bool
	// lists are the list reads of the keys in listKeys: operations of readers that did not abort.
	listKeys map[uint32]bool
	lists    map[uint32][]uint32
	dead     map[uint32]bool // transactions of unknown outcome that cannot have committed; see bury
	// doubledKeys are the lists one of whose elements was appended more than once; made when first asked for.
	doubledKeys map[uint32]bool
	place       []uint32 // transaction → place in its session; made when first asked for
	// installed are the final writes of the keys in keys, or of all of them, of transactions that did not abort, Init left out; truths are the
	// predicates' on them.
	keys      map[uint32]bool
	allKeys   bool
	installed map[uint32][]install
	truths    *predicates.Truths
}

// writer is one write or append of a version.
type writer struct {
	op, txn uint32
	final   bool // no later write of the key in its transaction; every append is
}

func newIndex(h *history.History) *index {
	return &index{h: h, wanted: make([]uint64, h.NumVersions()/64+1), writes: make(map[uint32][]writer),
		listKeys: make(map[uint32]bool), lists: make(map[uint32][]uint32), keys: make(map[uint32]bool), installed: make(map[uint32][]install)}
}

// want asks for the writers of a version.
func (x *index) want(v uint32) {
	if int(v) < x.h.NumVersions() {
		x.wanted[v/64] |= 1 << (v % 64)
	}
}

func (x *index) wants(v uint32) bool { return x.wanted[v/64]>>(v%64)&1 == 1 }

// wantTxn asks for the writers of everything that t read or appended.
func (x *index) wantTxn(t uint32) {
	if int(t) >= x.h.NumTxns() {
		return
	}
	lo, hi := x.h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := x.h.Ops.Ver[op]
		switch x.h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			x.wantRows(op)
		case history.Read, history.Append:
			x.want(v)
		case history.ReadList:
			for _, e := range elems(x.h, v) {
				x.want(e)
			}
		}
	}
}

// wantAnomaly asks for all that the proof of an anomaly may need.
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
		t := evidence.TxnOf(x.h, op)
		txn(t)
		x.wantTxn(t)
		wrote(x.h, op, x.want)
		if int(a.Key) < x.h.NumKeys() && a.Kind == level.PredicateMismatch {
			x.keys[a.Key] = true
		}
	}
	for _, ops := range a.Dead {
		for _, op := range ops {
			if int(op) < x.h.NumOps() {
				x.wantTxn(evidence.TxnOf(x.h, op))
			}
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

// build scans the history.
func (x *index) build() {
	h := x.h
	// A read of ambiguous value may have a writer of unknown outcome that no edge names, and whether that counts is then part
	// of the proof; so all of them are looked up wherever there are any.
	for t, s := range h.Txns.Status {
		if s == history.Unknown {
			x.unknown = true
			x.wantTxn(uint32(t))
			lo, hi := h.TxnOps(uint32(t))
			for op := lo; op < hi; op++ {
				wrote(h, op, x.want)
			}
		}
	}
	if x.unknown {
		x.readers = make(map[uint32][]uint32)
		x.allKeys = x.truths != nil
	}
	lists := len(x.listKeys) > 0
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Write:
				x.write(v, op, t, hi)
			case history.PredRead, history.PredWrite:
				x.rows(op, t, hi)
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
					seen, _ := others(h, op, lo) // what it appended itself it did not read from anybody
					for _, e := range seen {
						if x.wants(e) {
							x.readers[e] = append(x.readers[e], t)
						}
					}
				}
				if lists && x.listKeys[h.Lists.Key[v]] && h.Txns.Status[t] != history.Aborted {
					x.lists[h.Lists.Key[v]] = append(x.lists[h.Lists.Key[v]], op)
				}
			}
		}
	}
}

// isFinal reports whether no write of key k follows op before hi.
func isFinal(h *history.History, k, op, hi uint32) bool {
	for later := op + 1; later < hi; later++ {
		switch h.Ops.Kind[later] {
		case history.Write:
			if h.VerKey[h.Ops.Ver[later]] == k {
				return false
			}
		case history.PredWrite:
			if rowOf(h, later, k) != history.None {
				return false
			}
		}
	}
	return true
}

// finalWrite returns the last write or append of k in t and the version that it wrote, history.None if there is none.
func finalWrite(h *history.History, t, k uint32) (op, ver uint32) {
	lo, hi := h.TxnOps(t)
	for op := hi; op > lo; op-- {
		switch h.Ops.Kind[op-1] {
		case history.Write, history.Append:
			if h.VerKey[h.Ops.Ver[op-1]] == k {
				return op - 1, h.Ops.Ver[op-1]
			}
		case history.PredWrite:
			if r := rowOf(h, op-1, k); r != history.None {
				return op - 1, h.Preds.New[r]
			}
		}
	}
	return history.None, history.None
}

// initial stands among the candidates of a read for the initial version, whether or not a transaction wrote it.
const initial = history.None

// candidates are the transactions that may have installed version v as reader saw it: those not aborted whose final write it
// is, and initial.
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
			// What it wrote last is the key's initial version; an element that it appended is initial too.
			if h.Ops.Kind[w.op] == history.Append && (len(out) == 0 || out[0] != initial) {
				out = append(out, initial)
			}
		default:
			out = append(out, w.txn)
		}
	}
	return out
}

// reads reports whether t reads version v of its key before any own write of the key.
func reads(h *history.History, t, v uint32) bool {
	k := h.VerKey[v]
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		switch h.Ops.Kind[op] {
		case history.Read:
			if h.Ops.Ver[op] == v {
				return true
			}
		case history.Write:
			if h.VerKey[h.Ops.Ver[op]] == k {
				return false
			}
		case history.PredRead, history.PredWrite:
			if r := rowOf(h, op, k); r != history.None {
				if h.Preds.Old[r] == v {
					return true
				}
				if h.Ops.Kind[op] == history.PredWrite {
					return false
				}
			}
		}
	}
	return false
}

// readsOf calls f with each version that t reads before any own write of its key, and each element of others that it reads in
// a list.
func readsOf(h *history.History, t uint32, f func(v uint32)) {
	lo, hi := h.TxnOps(t)
	var own map[uint32]bool
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			if !own[h.VerKey[v]] {
				f(v)
			}
		case history.Write:
			if own == nil {
				own = make(map[uint32]bool)
			}
			own[h.VerKey[v]] = true
		case history.PredRead, history.PredWrite:
			if own == nil {
				own = make(map[uint32]bool)
			}
			for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
				k := rowKey(h, r)
				if old := h.Preds.Old[r]; old != history.None && !own[k] {
					f(old)
				}
				if h.Ops.Kind[op] == history.PredWrite {
					own[k] = true
				}
			}
		case history.ReadList:
			seen, _ := others(h, op, lo)
			for _, e := range seen {
				f(e)
			}
		}
	}
}

// others returns what the list read op shows of other transactions: the list without its own appends since lo, with which it
// must end.
func others(h *history.History, op, lo uint32) (seen []uint32, ok bool) {
	list := elems(h, h.Ops.Ver[op])
	k := h.OpKey(op)
	n := len(list)
	for own := op; own > lo; own-- {
		if h.Ops.Kind[own-1] != history.Append || h.OpKey(own-1) != k {
			continue
		}
		if n == 0 || list[n-1] != h.Ops.Ver[own-1] {
			return nil, false
		}
		n--
	}
	return list[:n], true
}

// listReads returns the reads of list k in t.
func listReads(h *history.History, t, k uint32) (ops []uint32) {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op] == history.ReadList && h.OpKey(op) == k {
			ops = append(ops, op)
		}
	}
	return ops
}

// sessionBefore reports whether session order has a before b: both in one session, a earlier and committed.
func (x *index) sessionBefore(a, b uint32) bool {
	h := x.h
	if a == h.Init || b == h.Init || h.Txns.Sess[a] != h.Txns.Sess[b] || h.Txns.Status[a] != history.Committed {
		return false
	}
	if x.place == nil {
		x.place = make([]uint32, h.NumTxns())
		for i, t := range h.SessTxn {
			x.place[t] = uint32(i)
		}
	}
	return x.place[a] < x.place[b]
}
