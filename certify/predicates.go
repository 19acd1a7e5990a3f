package certify

import (
	"fmt"

	"isovet/evidence"
	"isovet/history"
	"isovet/predicates"
)

// install is a transaction's final write of a key.
type install struct{ txn, ver uint32 }

// write records that an operation of t wrote a register.
func (x *index) write(v, op, t uint32) {
	h := x.h
	k := h.VerKey[v]
	wants, key := x.wants(v), x.allKeys || x.keys[k]
	if !wants && !key {
		return
	}
	final := x.finals.is(t, k, op)
	if wants {
		x.writes[v] = append(x.writes[v], writer{op, t, final})
	}
	if key && final && t != h.Init && h.Txns.Status[t] != history.Aborted {
		x.installed[k] = append(x.installed[k], install{t, v})
	}
}

// rows records what a predicate operation of t read and wrote.
func (x *index) rows(op, t uint32) {
	h := x.h
	i := h.Ops.Ver[op]
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		if v := h.Preds.Old[r]; v != history.None && x.unknown && x.wants(v) {
			x.readers[v] = append(x.readers[v], t)
		}
		if h.Ops.Kind[op] == history.PredWrite {
			x.write(h.Preds.New[r], op, t)
		}
	}
}

// A base is an assumption about a predicate operation that shows no version of a key: that it saw the version of writer
// (or the initial one).
type base struct{ op, key, writer uint32 }

// fits reports whether a predicate operation may have seen version ver of k. If it missed k, its predicate must not be
// true for ver; if it overwrote k blindly, not false.
func (x *index) fits(op, k, ver uint32, missed bool) bool {
	t := x.truths.Of(x.h.Ops.Ver[op], k, ver)
	return missed && t != predicates.True || !missed && t != predicates.False
}

// openKey reports whether op, a predicate operation of t, missed key k. It returns an error unless op shows no version
// of k, only whether its predicate holds for a version of another transaction.
func (x *index) openKey(t, op, k uint32) (missed bool, err error) {
	h := x.h
	if int(op) >= h.NumOps() || h.TxnOf(op) != t || !h.Ops.Kind[op].Predicate() {
		return false, fmt.Errorf("operation %d is not a predicate operation of %s", op, name(h, t))
	}
	if int(k) >= h.NumKeys() {
		return false, fmt.Errorf("there is no key index %d: the number of keys is %d", k, h.NumKeys())
	}
	r := rowOf(h, op, k)
	if r != history.None && h.Preds.Old[r] != history.None {
		return false, fmt.Errorf("the operation matched a known version of %s", h.KeyString(k))
	}
	if w, _ := lastWrite(h, t, k, op); w != history.None {
		return false, fmt.Errorf("%s had written %s itself", name(h, t), h.KeyString(k))
	}
	return r == history.None, nil
}

// candidateBases returns the writers whose version of k operation op of t may have seen, or initial. At the weak levels
// a transaction sees one version of k, so all its operations that show no version of k must allow a candidate; first is
// the first of these operations. At other levels first is op.
func (p *proof) candidateBases(t, op, k uint32, missed bool) (first uint32, out []uint32) {
	x := p.x
	ops, missing := []uint32{op}, []bool{missed}
	if weak(p.level) {
		ops, missing = nil, nil
		for o := range x.h.EachOp(t) {
			if missed, err := x.openKey(t, o, k); err == nil {
				ops, missing = append(ops, o), append(missing, missed)
			}
		}
	}
	offer := func(w, ver uint32) {
		for i, o := range ops {
			if !x.fits(o, k, ver, missing[i]) {
				return
			}
		}
		out = append(out, w)
	}
	offer(initial, x.h.InitVer[k])
	for _, w := range x.installed[k] {
		if w.txn != t {
			offer(w.txn, w.ver)
		}
	}
	return ops[0], out
}

// predicate checks a PWR or PRW edge and appends its assumptions.
func (p *proof) predicate(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	t, writer := e.From, e.Writer
	if e.Dep == evidence.PWR {
		t, writer = e.To, e.From
		if e.Writer != history.None {
			return nil, fmt.Errorf("the edge names a writer besides the transaction that it starts at")
		}
	}
	missed, err := p.x.openKey(t, e.Op, e.Key)
	if err != nil {
		return nil, err
	}
	if writer == h.Init {
		writer = initial
	}
	first, candidates := p.candidateBases(t, e.Op, e.Key, missed)
	if !contains(candidates, writer) {
		return nil, fmt.Errorf("the predicate operation cannot have seen this version of %s", h.KeyString(e.Key))
	}
	ver := h.InitVer[e.Key]
	if writer != initial {
		_, ver = finalWrite(h, writer, e.Key)
	}
	if e.Ver != ver {
		return nil, fmt.Errorf("version %d differs from the one that the certificate gives the predicate "+
			"operation", e.Ver)
	}
	p.based(t, first, e.Key, candidates)
	if len(candidates) > 1 {
		needs = append(needs, p.bases[base{first, e.Key, writer}])
	}
	if e.Dep == evidence.PWR {
		return needs, nil
	}
	w, to := finalWrite(h, e.To, e.Key)
	if w == history.None || e.To == writer {
		return nil, fmt.Errorf("%s does not overwrite %s", name(h, e.To), h.KeyString(e.Key))
	}
	if p.x.fits(e.Op, e.Key, to, missed) {
		return nil, fmt.Errorf("the predicate operation may have seen %s's version of %s", name(h, e.To),
			h.KeyString(e.Key))
	}
	if writer == initial {
		return needs, nil
	}
	return p.before(needs, writer, e.To), nil
}

// based adds the clauses of a predicate operation that shows no version of k, once: it saw that of a candidate, which
// counts if t does. At levels with real time, t cannot have seen a candidate that began after the end of t. Nor can it
// have seen one that ended before a third transaction began which wrote k and ended before t began.
func (p *proof) based(t, op, k uint32, candidates []uint32) {
	if p.open[[2]uint32{op, k}] {
		return
	}
	p.open[[2]uint32{op, k}] = true
	p.oneOf(t, candidates, func(w uint32, l Lit) { p.bases[base{op, k, w}] = l }, p.hidden(t, k))
}

// hidden returns a function that reports whether real time excludes that t saw the version of k by writer w: see based.
func (p *proof) hidden(t, k uint32) func(w uint32) bool {
	if !p.level.RealTime() {
		return notHidden
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
		return p.timeBefore(t, w) || some && history.InTime(endOf(p.h, w), late, p.skew)
	}
}

// forced adds the clauses of the predicate operations of u, whose outcome is unknown, and of those that may have seen
// u's writes, even if no cycle names them: if only transactions of unknown outcome can have left a key as an operation
// saw it, one of them counts. Cost: the keys that u writes × predicate operations, and u's own × keys.
func (p *proof) forced(u uint32) {
	h := p.h
	lo, hi := h.TxnOps(u)
	seen := make(map[uint32]bool)
	for op := lo; op < hi; op++ {
		if h.Ops.Kind[op].Predicate() {
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
				for q := range h.EachOp(t) {
					if h.Ops.Kind[q].Predicate() {
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
		return // it shows which version it saw
	}
	op, c := p.candidateBases(t, op, k, missed)
	hidden := p.hidden(t, k)
	for _, w := range c {
		if (w == initial || p.h.Txns.Status[w] == history.Committed) && !hidden(w) {
			return
		}
	}
	p.based(t, op, k, c)
}

// mismatch adds the clauses of a predicate-mismatch: its transaction t does not count, unless a transaction of unknown
// outcome counts whose version the operation may have seen.
func (p *proof) mismatch(a *evidence.Anomaly, t uint32) {
	if v, _ := p.x.saw(a.Ops[0], a.Key); v != history.None {
		p.clause(p.not(p.counts(nil, t)))
		return
	}
	first, candidates := p.candidateBases(t, a.Ops[0], a.Key, rowOf(p.h, a.Ops[0], a.Key) == history.None)
	p.based(t, first, a.Key, candidates)
}

// contradicts reports whether a predicate operation disagrees with the versions in saw, which its transaction read or
// wrote before. It updates saw; if repeat is false, reads need not repeat, and saw has only the own writes.
func (x *index) contradicts(op uint32, saw map[uint32]uint32, repeat bool) bool {
	h := x.h
	i := h.Ops.Ver[op]
	matched := make(map[uint32]bool)
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		k, v := h.RowKey(r), h.Preds.Old[r]
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
			saw[h.RowKey(r)] = h.Preds.New[r]
		}
	}
	return false
}
