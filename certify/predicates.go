package certify

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

func isPredicate(h *history.History, op uint32) bool {
	k := h.Ops.Kind[op]
	return k == history.PredRead || k == history.PredWrite
}

func anti(d evidence.Dep) bool { return d == evidence.RW || d == evidence.PRW }

// rowKey returns the key of a row that a predicate operation matched.
func rowKey(h *history.History, r uint32) uint32 {
	if v := h.Preds.Old[r]; v != history.None {
		return h.VerKey[v]
	}
	return h.VerKey[h.Preds.New[r]]
}

// rowOf returns the row of key k that a predicate operation matched, history.None if it did not.
func rowOf(h *history.History, op, k uint32) uint32 {
	i := h.Ops.Ver[op]
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		if rowKey(h, r) == k {
			return r
		}
	}
	return history.None
}

// wrote calls f with each version that an operation writes.
func wrote(h *history.History, op uint32, f func(v uint32)) {
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Write, history.Append:
		f(v)
	case history.PredWrite:
		for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
			f(h.Preds.New[r])
		}
	}
}

// install is a transaction's final write of a key.
type install struct{ txn, ver uint32 }

// wantRows asks for the writers of the versions that a predicate operation matched.
func (x *index) wantRows(op uint32) {
	i := x.h.Ops.Ver[op]
	for _, v := range x.h.Preds.Old[x.h.Preds.Off[i]:x.h.Preds.Off[i+1]] {
		if v != history.None {
			x.want(v)
		}
	}
}

// write books a register's write, by an operation of t, whose operations end at hi.
func (x *index) write(v, op, t, hi uint32) {
	h := x.h
	k := h.VerKey[v]
	wants, key := x.wants(v), x.allKeys || x.keys[k]
	if !wants && !key {
		return
	}
	final := isFinal(h, k, op, hi)
	if wants {
		x.writes[v] = append(x.writes[v], writer{op, t, final})
	}
	if key && final && t != h.Init && h.Txns.Status[t] != history.Aborted {
		x.installed[k] = append(x.installed[k], install{t, v})
	}
}

// rows books what a predicate operation of t read and wrote.
func (x *index) rows(op, t, hi uint32) {
	h := x.h
	i := h.Ops.Ver[op]
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		if v := h.Preds.Old[r]; v != history.None && x.unknown && x.wants(v) {
			x.readers[v] = append(x.readers[v], t)
		}
		if h.Ops.Kind[op] == history.PredWrite {
			x.write(h.Preds.New[r], op, t, hi)
		}
	}
}

// ownBefore returns the last write of k in t before op, and its version.
func ownBefore(h *history.History, t, k, op uint32) (w, ver uint32) {
	lo, _ := h.TxnOps(t)
	for q := op; q > lo; q-- {
		switch h.Ops.Kind[q-1] {
		case history.Write:
			if h.OpKey(q-1) == k {
				return q - 1, h.Ops.Ver[q-1]
			}
		case history.PredWrite:
			if r := rowOf(h, q-1, k); r != history.None {
				return q - 1, h.Preds.New[r]
			}
		}
	}
	return history.None, history.None
}

// A base says that a predicate operation, about a key that it did not read, was based on writer's version (initial: on that).
type base struct{ op, key, writer uint32 }

// fits reports whether a predicate operation may have been based on a version of k: one of which its predicate is not true, of
// a key that it missed; not false, of one that it overwrote blindly.
func (x *index) fits(op, k, ver uint32, missed bool) bool {
	t := x.truths.Of(x.h.Ops.Ver[op], k, ver)
	return missed && t != predicates.True || !missed && t != predicates.False
}

// excludes reports whether a version of k cannot have been what a predicate operation was based on.
func (x *index) excludes(op, k, ver uint32, missed bool) bool { return !x.fits(op, k, ver, missed) }

// openKey reports whether an operation is a predicate operation that says of key k only whether its predicate holds of what
// others left there, and whether it missed k; else an error.
func (x *index) openKey(t, op, k uint32) (missed bool, err error) {
	h := x.h
	if int(op) >= h.NumOps() || evidence.TxnOf(h, op) != t || !isPredicate(h, op) {
		return false, fmt.Errorf("operation %d is no predicate operation of %s", op, name(h, t))
	}
	if int(k) >= h.NumKeys() {
		return false, fmt.Errorf("key %d of %d", k, h.NumKeys())
	}
	r := rowOf(h, op, k)
	if r != history.None && h.Preds.Old[r] != history.None {
		return false, fmt.Errorf("it matched %s at a known version", h.KeyString(k))
	}
	if w, _ := ownBefore(h, t, k, op); w != history.None {
		return false, fmt.Errorf("%s had written %s itself", name(h, t), h.KeyString(k))
	}
	return r == history.None, nil
}

// candidateBases are the writers on whose version of k operation op of t may have been based, initial among them.
func (x *index) candidateBases(t, op, k uint32, missed bool) []uint32 {
	var out []uint32
	if x.fits(op, k, x.h.InitVer[k], missed) {
		out = append(out, initial)
	}
	for _, w := range x.installed[k] {
		if w.txn != t && x.fits(op, k, w.ver, missed) {
			out = append(out, w.txn)
		}
	}
	return out
}

// predicate checks a PWR or PRW edge and adds what it assumes.
func (p *proof) predicate(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	t, writer := e.From, e.Writer
	if e.Dep == evidence.PWR {
		t, writer = e.To, e.From
		if e.Writer != history.None {
			return nil, fmt.Errorf("a writer beside the transaction that it comes from")
		}
	}
	missed, err := p.x.openKey(t, e.Op, e.Key)
	if err != nil {
		return nil, err
	}
	if writer == h.Init {
		writer = initial
	}
	candidates := p.x.candidateBases(t, e.Op, e.Key, missed)
	if !contains(candidates, writer) {
		return nil, fmt.Errorf("the predicate operation cannot have been based on this version of %s", h.KeyString(e.Key))
	}
	ver := h.InitVer[e.Key]
	if writer != initial {
		_, ver = finalWrite(h, writer, e.Key)
	}
	if e.Ver != ver {
		return nil, fmt.Errorf("version %d is not the one that the predicate operation is said to be based on", e.Ver)
	}
	p.based(t, e.Op, e.Key, candidates)
	if len(candidates) > 1 {
		needs = append(needs, p.bases[base{e.Op, e.Key, writer}])
	}
	if e.Dep == evidence.PWR {
		return needs, nil
	}
	w, to := finalWrite(h, e.To, e.Key)
	if w == history.None || e.To == writer {
		return nil, fmt.Errorf("%s does not overwrite %s", name(h, e.To), h.KeyString(e.Key))
	}
	if !p.x.excludes(e.Op, e.Key, to, missed) {
		return nil, fmt.Errorf("the predicate operation may have been based on what %s made of %s", name(h, e.To), h.KeyString(e.Key))
	}
	if writer == initial {
		return needs, nil
	}
	return p.before(needs, writer, e.To), nil
}

// based adds, once, the clauses of what a predicate operation missed: it was based on some candidate, which counts if the
// operation's transaction does. Under real time a candidate that began after that transaction's end is none, nor is one that had
// ended before another write of the key began that had itself ended before the transaction began: the operation can be based on the last
// version before it, and that is not this one.
func (p *proof) based(t, op, k uint32, candidates []uint32) {
	if p.open[[2]uint32{op, k}] {
		return
	}
	p.open[[2]uint32{op, k}] = true
	some := p.not(p.counts(nil, t))
	hidden := p.hidden(t, k)
	for _, w := range candidates {
		var is []Lit
		if len(candidates) > 1 {
			l := p.newVar()
			p.bases[base{op, k, w}] = l
			some = append(some, l)
			is = append(is, l)
		}
		if hidden(w) {
			p.clause(append(p.not(p.counts(nil, t)), p.not(is)...))
		}
		if w != initial {
			for _, c := range p.counts(nil, w) {
				p.clause(append(p.not(p.counts(is, t)), c))
			}
		}
	}
	if len(candidates) != 1 {
		p.clause(some)
	}
}

// hidden tells of which writers of k, initial among them, real time excludes that t saw what they left there: see based.
func (p *proof) hidden(t, k uint32) func(w uint32) bool {
	if !p.level.RealTime() {
		return func(uint32) bool { return false }
	}
	late, some := int64(0), false // the latest start of a writer that ended before t began
	for _, w := range p.x.installed[k] {
		if w.txn != t && p.h.Txns.Status[w.txn] == history.Committed && p.timeBefore(w.txn, t) {
			if s := p.h.Start(w.txn); !some || s > late {
				late, some = s, true
			}
		}
	}
	return func(w uint32) bool {
		if w == initial {
			return some
		}
		return p.timeBefore(t, w) || some && inTime(endOf(p.h, w), late, p.skew)
	}
}

// forced adds what predicate operations say of u, of unknown outcome, that no cycle need speak of: a key was missed, or overwritten, which
// only transactions of unknown outcome can have left so, the others' versions being hidden by real time or none to be based on; one of
// those counts. The operation is u's, or u one of those.
// Cost: the keys that u writes × predicate operations, and u's own × keys.
func (p *proof) forced(u uint32) {
	h := p.h
	lo, hi := h.TxnOps(u)
	seen := make(map[uint32]bool)
	for op := lo; op < hi; op++ {
		if isPredicate(h, op) {
			for k := range uint32(h.NumKeys()) {
				p.forcedBy(u, op, k)
			}
		}
		wrote(h, op, func(v uint32) {
			k := h.VerKey[v]
			if h.Ops.Kind[op] == history.Append || seen[k] {
				return
			}
			seen[k] = true
			for t := range uint32(h.NumTxns()) {
				if t == u || t == h.Init || h.Txns.Status[t] == history.Aborted {
					continue
				}
				from, to := h.TxnOps(t)
				for q := from; q < to; q++ {
					if isPredicate(h, q) {
						p.forcedBy(t, q, k)
					}
				}
			}
		})
	}
}

func (p *proof) forcedBy(t, op, k uint32) {
	missed, err := p.x.openKey(t, op, k)
	if err != nil || !p.x.allKeys {
		return // it says which version it saw
	}
	c := p.x.candidateBases(t, op, k, missed)
	hidden := p.hidden(t, k)
	for _, w := range c {
		if (w == initial || p.h.Txns.Status[w] == history.Committed) && !hidden(w) {
			return
		}
	}
	p.based(t, op, k, c)
}

// mismatch adds what a predicate-mismatch says of its transaction t: that it does not count, unless one of unknown outcome does on which
// its operation may have been based.
func (p *proof) mismatch(a *evidence.Anomaly, t uint32) {
	if v, _ := p.x.saw(a.Ops[0], a.Key); v != history.None {
		p.clause(p.not(p.counts(nil, t)))
		return
	}
	missed := rowOf(p.h, a.Ops[0], a.Key) == history.None
	p.based(t, a.Ops[0], a.Key, p.x.candidateBases(t, a.Ops[0], a.Key, missed))
}

// external returns the version of each key that t reads first, of those that it reads before it writes them.
func external(h *history.History, t uint32) map[uint32]uint32 {
	saw := make(map[uint32]uint32)
	readsOf(h, t, func(v uint32) {
		if _, ok := saw[h.VerKey[v]]; !ok {
			saw[h.VerKey[v]] = v
		}
	})
	return saw
}

// contradicts follows a predicate operation through what its transaction has seen so far, or where reads need not repeat has written itself,
// and reports whether it disagrees.
func (x *index) contradicts(op uint32, saw map[uint32]uint32, repeat bool) bool {
	h := x.h
	i := h.Ops.Ver[op]
	matched := make(map[uint32]bool)
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		k, v := rowKey(h, r), h.Preds.Old[r]
		matched[k] = true
		seen, ok := saw[k]
		switch {
		case v != history.None && (ok && seen != v || repeat && x.truths.Of(i, k, v) == predicates.False):
			return true
		case v == history.None && ok && x.truths.Of(i, k, seen) == predicates.False:
			return true
		}
		if v != history.None && repeat {
			saw[k] = v
		}
	}
	for k, v := range saw {
		if !matched[k] && x.truths.Of(i, k, v) == predicates.True {
			return true
		}
	}
	if h.Ops.Kind[op] == history.PredWrite {
		for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
			saw[rowKey(h, r)] = h.Preds.New[r]
		}
	}
	return false
}

// checkPredicateReads is checkReads for histories with predicates: where an operation is on one, the anomaly is about its Key. Ops are as there; of a
// predicate-mismatch there is one, which matched a version of which its predicate is false, or which no version explains.
func (x *index) checkPredicateReads(a *evidence.Anomaly) (reader uint32, err error) {
	h := x.h
	want := 2
	if a.Kind == level.ThinAirRead || a.Kind == level.PredicateMismatch {
		want = 1
	}
	if len(a.Ops) != want {
		return 0, fmt.Errorf("%d operations; expected %d", len(a.Ops), want)
	}
	for _, op := range a.Ops {
		if int(op) >= h.NumOps() {
			return 0, fmt.Errorf("operation %d of %d", op, h.NumOps())
		}
	}
	op, k := a.Ops[0], a.Key
	if !isPredicate(h, op) && (want == 1 || !isPredicate(h, a.Ops[1])) {
		k = h.OpKey(op) // Key says nothing
	}
	if int(k) >= h.NumKeys() {
		return 0, fmt.Errorf("key %d of %d", k, h.NumKeys())
	}
	t := evidence.TxnOf(h, op)
	if h.Txns.Status[t] == history.Aborted {
		return 0, fmt.Errorf("%s, the reader, aborted", name(h, t))
	}
	v, about := x.saw(op, k)
	if !about {
		return t, fmt.Errorf("operation %d does not read %s", op, h.KeyString(k))
	}
	own, ownVer := ownBefore(h, t, k, op)
	other, by := history.None, history.None
	if want == 2 {
		other = a.Ops[1]
		by = evidence.TxnOf(h, other)
	}
	switch a.Kind {
	case level.NotMyOwnWrite, level.NotMyLastWrite:
		if own == history.None || own != other {
			return t, fmt.Errorf("operation %d is not the last own write before the read", other)
		}
		if x.agrees(op, k, ownVer) {
			return t, fmt.Errorf("the read is of the last own write")
		}
		earlier := false
		lo, _ := h.TxnOps(t)
		for q := lo; q < own; q++ {
			wrote(h, q, func(w uint32) { earlier = earlier || v != history.None && w == v })
		}
		if earlier != (a.Kind == level.NotMyLastWrite) {
			return t, fmt.Errorf("whether the value read is an own earlier write is said wrongly")
		}
		return t, nil
	case level.NonRepeatableRead:
		w, also := x.saw(other, k)
		switch {
		case by != t || other <= op || !also:
			return t, fmt.Errorf("operation %d is not a later read of %s in the same transaction", other, h.KeyString(k))
		case v == history.None && w == history.None:
			return t, fmt.Errorf("neither read shows which version it saw")
		case v != history.None && x.agrees(other, k, v), v == history.None && x.agrees(op, k, w):
			return t, fmt.Errorf("the two reads agree")
		}
		if w, _ := ownBefore(h, t, k, other); w != history.None {
			return t, fmt.Errorf("there is an own write before the second read")
		}
		return t, nil
	case level.PredicateMismatch:
		if !isPredicate(h, op) {
			return t, fmt.Errorf("operation %d is no predicate operation", op)
		}
		if v != history.None {
			if x.truths.Of(h.Ops.Ver[op], k, v) != predicates.False {
				return t, fmt.Errorf("the predicate may be true of %s", h.ValueString(v))
			}
			return t, nil
		}
		missed, err := x.openKey(t, op, k)
		if err != nil {
			return t, err
		}
		c := x.candidateBases(t, op, k, missed)
		for _, w := range c { // of unknown outcome they may be, if none can have committed; see proof.mismatch
			if w == initial || h.Txns.Status[w] == history.Committed {
				return t, fmt.Errorf("the predicate operation may have been based on one of %d versions of %s", len(c), h.KeyString(k))
			}
		}
		return t, nil
	}
	if v == history.None {
		return t, fmt.Errorf("operation %d does not show which version of %s it saw", op, h.KeyString(k))
	}
	if own != history.None && ownVer == v {
		return t, fmt.Errorf("the read is of the transaction's own write")
	}
	if c := x.candidates(t, v); len(c) > 0 {
		return t, fmt.Errorf("another transaction, or the initial state, may have the version read")
	}
	if want == 2 {
		is := false
		wrote(h, other, func(w uint32) { is = is || w == v })
		if !is {
			return t, fmt.Errorf("operation %d is not a write of the version read", other)
		}
	}
	return t, x.origin(a.Kind, t, k, v, op, other, by)
}

// saw returns the version of k that an operation shows to have read, history.None where it only shows whether a predicate holds,
// and whether it reads k at all: a predicate operation reads every key.
func (x *index) saw(op, k uint32) (ver uint32, reads bool) {
	h := x.h
	switch h.Ops.Kind[op] {
	case history.Read:
		return h.Ops.Ver[op], h.OpKey(op) == k
	case history.PredRead, history.PredWrite:
		if r := rowOf(h, op, k); r != history.None {
			return h.Preds.Old[r], true
		}
		return history.None, true
	}
	return history.None, false
}

// agrees reports whether an operation that reads k can have seen version ver.
func (x *index) agrees(op, k, ver uint32) bool {
	v, _ := x.saw(op, k)
	if !isPredicate(x.h, op) {
		return v == ver
	}
	if v != history.None {
		return v == ver && x.truths.Of(x.h.Ops.Ver[op], k, ver) != predicates.False
	}
	return x.fits(op, k, ver, rowOf(x.h, op, k) == history.None)
}
