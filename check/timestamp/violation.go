package timestamp

import (
	"cmp"
	"slices"
	"time"

	"isovet/history"
	"isovet/internal/graph"
	"isovet/internal/sorts"
)

// Axiom is one of the conditions of CHRONOS, by the paper's names, and TIMESTAMPS for its Equation 1: start ≤ commit.
type Axiom uint8

const (
	TIMESTAMPS Axiom = iota
	SESSION
	INT
	EXT
	NOCONFLICT
	// LATE is no axiom: the transaction arrived after the watermark had passed it, and was not judged (Aion).
	LATE
	// GAP is a part of SESSION in the paper: the number of a transaction in its session does not follow the last one
	// (Algorithm 3, line 7). It shows that a transaction is missing, not that the database was wrong (Aion).
	GAP
)

var axiomNames = [...]string{"TIMESTAMPS", "SESSION", "INT", "EXT", "NOCONFLICT", "LATE", "GAP"}

func (a Axiom) String() string { return axiomNames[a] }

// Kind says how an external read fails.
type Kind uint8

const (
	NoKind       Kind = iota
	NeverWritten      // no transaction wrote the value
	Own               // the transaction's own later write
	Aborted           // only aborted transactions wrote it
	Intermediate      // a write that its transaction overwrote
	Before            // it had been overwritten at the start
	Uncommitted       // its writer was running at the start
	After             // its writer started later
	Phantom           // a predicate read missed a row that was there, or has one that was not
)

var kindNames = [...]string{"", "never written", "own", "aborted", "intermediate", "before", "uncommitted", "after",
	"phantom"}

func (k Kind) String() string { return kindNames[k] }

// Violation is one failure of an axiom.
type Violation struct {
	Axiom Axiom
	Kind  Kind   // of EXT
	Txn   uint32 // the failing transaction; of two in conflict or in a session, the later
	// SESSION: the predecessor; NOCONFLICT: the one that committed first; EXT: the installer of Want; else None
	Other uint32
	Key   uint32 // None if no key is involved
	Op    uint32 // INT, EXT: the read; else None
	Got   uint32 // INT, EXT: the version read (None of a list, see Op, or of a row that a predicate read missed)
	Want  uint32 // INT, EXT: the version that should have been read; None: a state that no operation names, or a list
}

func broken(a Axiom, t, other, key uint32) Violation {
	return Violation{Axiom: a, Txn: t, Other: other, Key: key, Op: history.None, Got: history.None, Want: history.None}
}

// Report is what a checker found.
type Report struct {
	Violations []Violation
	// Txns counts the transactions that violate an axiom. Pairs counts pairs of transaction and key, as some papers do
	// (errata C9).
	Txns, Pairs int
	// Order has the moments in order, t<<1 for a start and t<<1|1 for a commit, at the snapshot level; transactions at
	// the serializable level.
	Order []uint32
	// Stages are the times of the parts: sorting, checking.
	Stages map[string]time.Duration
	// Online is what Aion counted.
	Online AionStats

	// Begin, if set, returns when a transaction reads; nil means at its start, or without one at its commit.
	Begin func(t uint32) int64

	w *writers
}

// Source returns the writer of the version that an EXT violation's register read or predicate row saw, the least wrong
// of several, or None if there is none or it is a list read. Cost: at the first call a pass over the operations.
func (r *Report) Source(h *history.History, v *Violation) uint32 {
	if v.Axiom != EXT || v.Got == history.None || v.Kind == Phantom {
		return history.None
	}
	if r.w == nil {
		r.w = newWriters(h)
	}
	at := h.CommitTS(v.Txn)
	if s := h.StartTS(v.Txn); s != history.NoTime {
		at = s
	}
	if r.Begin != nil {
		at = r.Begin(v.Txn)
	}
	_, by := r.w.source(v.Txn, v.Got, at)
	return by
}

// Unsupported says that a checker does not decide a kind of history.
type Unsupported struct{ What string }

func (u *Unsupported) Error() string { return u.What }

// finish sorts the violations by transaction, axiom and key, removes duplicates, and counts.
func (r *Report) finish() {
	sorts.Func(r.Violations, compare)
	r.Violations = slices.Compact(r.Violations)
	lastTxn, lastKey := history.None, history.None
	for i, v := range r.Violations {
		if i == 0 || v.Txn != lastTxn {
			r.Txns++
			r.Pairs++
		} else if v.Key != lastKey {
			r.Pairs++
		}
		lastTxn, lastKey = v.Txn, v.Key
	}
}

func compare(a, b Violation) int {
	return cmp.Or(cmp.Compare(a.Txn, b.Txn), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Axiom, b.Axiom),
		cmp.Compare(a.Op, b.Op), cmp.Compare(a.Other, b.Other), cmp.Compare(a.Got, b.Got))
}

// writers finds the writers of a version, for the kinds of EXT failures. It is built at the first of these.
type writers struct {
	h *history.History
	// Operations that write version v: op[off[v]:off[v+1]].
	off, op []uint32
}

func newWriters(h *history.History) *writers {
	w := &writers{h: h}
	by := graph.NewGroups[uint32](h.NumVersions())
	each := func(f func(op, ver uint32)) {
		for op, k := range h.Ops.Kind {
			v := h.Ops.Ver[op]
			switch k {
			case history.Write, history.Append:
				f(uint32(op), v)
			case history.PredWrite:
				for _, n := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
					f(uint32(op), n)
				}
			}
		}
	}
	each(func(_, v uint32) { by.Count(v) })
	w.op = make([]uint32, by.Sum())
	each(func(op, v uint32) { w.op[by.Place(v)] = op })
	w.off = by.Off()
	return w
}

// kind says what is wrong with transaction t's read of version v at timestamp now. Of several writers it takes the
// least wrong one.
func (w *writers) kind(t, v uint32, now int64) Kind {
	k, _ := w.source(t, v, now)
	return k
}

func (w *writers) source(t, v uint32, now int64) (Kind, uint32) {
	if v == history.None {
		return NeverWritten, history.None
	}
	h := w.h
	if h.InitVer[h.VerKey[v]] == v {
		return Before, history.None
	}
	best, from := NeverWritten, history.None
	for _, by := range w.op[w.off[v]:w.off[v+1]] {
		u := h.TxnOf(by)
		better := func(k Kind) {
			if k > best {
				best, from = k, u
			}
		}
		switch c := commitTS(h, u); {
		case u == t:
			better(Own)
		case u == h.Init:
			better(Before)
		case c == history.NoTime || h.StartTS(u) > c:
			better(Aborted)
		case !w.final(by, u, h.VerKey[v]):
			better(Intermediate)
		case c <= now:
			better(Before)
		case h.StartTS(u) <= now:
			better(Uncommitted)
		default:
			better(After)
		}
	}
	return best, from
}

// final reports whether op is the last write of its key in u, or an append; all appends are installed.
func (w *writers) final(op, u, key uint32) bool {
	h := w.h
	if h.Ops.Kind[op] == history.Append {
		return true
	}
	_, hi := h.TxnOps(u)
	for later := op + 1; later < hi; later++ {
		if writesKey(h, later, key) {
			return false
		}
	}
	return true
}

func writesKey(h *history.History, op, key uint32) bool {
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Write:
		return h.VerKey[v] == key
	case history.PredWrite:
		made := h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]]
		return slices.ContainsFunc(made, func(n uint32) bool { return h.VerKey[n] == key })
	}
	return false
}
