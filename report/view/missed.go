package view

import (
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/predicates"
	"isovet/report"
)

// Limits of the search for rows that conditions did not match.
const (
	nearFile    = 256 // transactions before and after in the file
	missedKeys  = 16  // keys of an operation with a condition
	missedTouch = 256 // keys that more transactions touched are skipped
	missedAsked = 64  // pairs of writers of which the order is asked
)

// truthsOf returns the truths of conditions, or nil if there are no conditions. The caller must hold truthsMu while it
// uses them.
func (b *book) truthsOf() *predicates.Truths {
	if b.truths == nil && b.axis.h.HasPredicates() {
		if x, err := predicates.NewTruths(b.axis.h); err == nil { // the reader has parsed them: they are predicates
			b.truths = x
		}
	}
	return b.truths
}

// basedOn is a version of a key on which an operation with a condition was based: the version it evaluated.
type basedOn struct {
	txn, ver uint32 // txn: history.None for the initial version
	known    bool
	by       string
}

// missedRows adds the predicate dependencies for rows that a condition did not match: pwr from the writer of the
// version that it evaluated, prw to the writer of a later version that it matches. It considers the keys that this
// transaction wrote, and those that nearby transactions in the file made match. Cost: the operations of some 500
// transactions, and the transactions that touched a few keys.
func (a *around) missedRows() {
	a.b.truthsMu.Lock()
	defer a.b.truthsMu.Unlock()
	truths := a.b.truthsOf()
	if truths == nil || a.t == a.h.Init {
		return
	}
	h := a.h
	from, to := uint32(max(0, int64(a.t)-nearFile)), uint32(min(int64(h.NumTxns()), int64(a.t)+nearFile+1))
	for op := range h.EachOp(a.t) {
		if !h.Ops.Kind[op].Predicate() {
			continue
		}
		var keys []uint32
		for w := from; w < to && len(keys) < missedKeys; w++ {
			if w == a.t || !a.b.counts(w) {
				continue
			}
			for o := range h.EachOp(w) {
				report.EachKey(h, o, func(k uint32, _, writes bool) {
					if writes && len(keys) < missedKeys && !slices.Contains(keys, k) &&
						truths.Of(h.Ops.Ver[op], k, wroteLast(h, w, k)) == predicates.True {
						keys = append(keys, k)
					}
				})
			}
		}
		for _, k := range keys {
			a.missedRow(truths, a.t, op, k)
		}
	}
	if !a.b.counts(a.t) {
		return
	}
	keys := slices.DeleteFunc(a.keys(), func(k uint32) bool { return !writes(h, a.t, k) })
	for r := from; r < to && len(keys) > 0; r++ {
		if r == a.t || r == h.Init {
			continue
		}
		for op := range h.EachOp(r) {
			for _, k := range keys {
				if h.Ops.Kind[op].Predicate() {
					a.missedRow(truths, r, op, k)
				}
			}
		}
	}
}

// final is the last version of a key that a transaction wrote.
type final struct{ txn, ver uint32 }

// finals returns the writers of a key in the order of the file. It returns none if more than missedTouch transactions
// touched it.
func (a *around) finals(k uint32) []final {
	if out, ok := a.final[k]; ok {
		return out
	}
	var out []final
	if all := a.b.keys.Load().of(k); len(all) <= missedTouch {
		for _, w := range all {
			if v := wroteLast(a.h, w, k); v != history.None && a.b.counts(w) {
				out = append(out, final{w, v})
			}
		}
	}
	a.final[k] = out
	return out
}

// missedRow adds the edges of the viewed transaction that exist because operation op of r did not match key k. Cost:
// the key's writers, and the order of some of them.
func (a *around) missedRow(truths *predicates.Truths, r, op, k uint32) {
	h := a.h
	if !open(h, r, op, k) {
		return
	}
	is := func(v uint32) predicates.Truth { return truths.Of(h.Ops.Ver[op], k, v) }
	var made []uint32 // writers of versions that the operation would have matched
	var others []basedOn
	if is(h.InitVer[k]) != predicates.True {
		others = append(others, basedOn{txn: history.None, ver: h.InitVer[k]})
	}
	writers := a.finals(k)
	for _, w := range writers {
		switch {
		case w.txn == r:
		case is(w.ver) == predicates.True:
			made = append(made, w.txn)
		default:
			others = append(others, basedOn{txn: w.txn, ver: w.ver})
		}
	}
	if len(made) == 0 {
		return
	}
	base, ok := a.b.baseOf(r, others, writers)
	if !ok {
		return
	}
	if base.txn != history.None && (a.t == r || a.t == base.txn) {
		a.add(evidence.Edge{From: base.txn, To: r, Key: k, Ver: base.ver, Writer: history.None, Op: op,
			Dep: evidence.PWR}, base.known, base.by)
	}
	inferred := 0
	for _, w := range made {
		if a.t != r && a.t != w {
			continue
		}
		known, by := base.known, base.by
		if base.txn != history.None {
			if a.asked++; a.asked > missedAsked {
				continue
			}
			o, ok := a.b.first(base.txn, w, k, a.near(k, nearKey, func(uint32) bool { return true }))
			if !ok || !o.before {
				continue
			}
			if known = known && o.known; !o.known {
				by = o.by
			}
		}
		if !known {
			if inferred++; inferred > nearest {
				a.more[evidence.PRW.String()]++
				continue
			}
		}
		a.add(evidence.Edge{From: r, To: w, Key: k, Ver: base.ver, Writer: base.txn, Op: op, Dep: evidence.PRW}, known,
			by)
	}
}

// open reports whether operation op of t, which has a condition, evaluated other transactions' versions of key k and
// did not match: it did not match the key, and t had not written it before.
func open(h *history.History, t, op, k uint32) bool {
	lo, _ := h.TxnOps(t)
	touched := false
	for o := lo; o <= op; o++ {
		report.EachKey(h, o, func(key uint32, _, writes bool) { touched = touched || key == k && (writes || o == op) })
	}
	return !touched
}

// baseOf returns the version that r's operation evaluated. candidates are the versions that its condition does not
// match; one is chosen if it is the only one, or the only one that real time allows. Cost: linear in the writers.
func (b *book) baseOf(r uint32, candidates []basedOn, writers []final) (basedOn, bool) {
	if len(candidates) == 1 {
		candidates[0].known = true
		return candidates[0], true
	}
	h := b.axis.h
	last, late := history.None, int64(0) // of the writers that had ended before r began, the one that began last
	for _, w := range writers {
		if start, _ := h.Window(w.txn, 0); b.inTime(w.txn, r) && (last == history.None || start > late) {
			last, late = w.txn, start
		}
	}
	if last == history.None {
		return basedOn{}, false
	}
	left := slices.DeleteFunc(candidates, func(c basedOn) bool {
		return c.txn == history.None || b.inTime(r, c.txn) || b.inTime(c.txn, last)
	})
	if len(left) != 1 {
		return basedOn{}, false
	}
	name := func(t uint32) string { return report.TxnName(h, t) }
	left[0].by = name(last) + " had written the row before " + name(r) + " began. Of the versions that the " +
		"condition does not match, only " + name(left[0].txn) + "'s can have existed then or later"
	return left[0], true
}
