package certify

import (
	"fmt"
	"iter"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// weak reports whether the level is one of Biswas and Enea's axioms on a commit order: if t3 reads key x from t1, and
// t2, another writer of x, is visible to t3, then t2 is before t1. Transaction t2 is visible if t3 read from it before
// that read (read-committed), if t3 read from it or follows it in its session (read-atomic), or if a path of reads and
// sessions leads from it to t3 (causal).
func weak(l level.Level) bool {
	return l == level.ReadCommitted || l == level.ReadAtomic || l == level.Causal
}

// weakCycle demands that the level's axiom excludes a cycle. Any cycle without an anti-dependency is excluded. If there
// is one anti-dependency, the other edges must make the overwriter visible to the reader.
func (p *proof) weakCycle(c []evidence.Edge) error {
	at := -1
	for i, e := range c {
		if anti(e.Dep) {
			if at >= 0 {
				return fmt.Errorf("the cycle has two anti-dependencies, which %s allows", p.at(e.From))
			}
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	l, path := p.at(c[at].From), slices.Concat(c[at+1:], c[:at])
	for _, e := range path {
		switch {
		case e.Dep != evidence.SO && e.Dep != evidence.WR && e.Dep != evidence.PWR:
			return fmt.Errorf("the cycle has an anti-dependency and an edge %s, which %s allows", e.Dep, l)
		case e.Dep == evidence.WR && !readsFrom(p.h, e.To, e.Ver):
			return fmt.Errorf("%s read a list in which %s is not the last element that others appended",
				name(p.h, e.To), p.h.ValueString(e.Ver))
		}
	}
	switch {
	case l == level.Causal:
		return nil
	case len(path) > 1:
		return fmt.Errorf("at %s a transaction need not see what its writers saw", l)
	case l == level.ReadCommitted && (path[0].Dep != evidence.WR || !readsInTurn(p.h, path[0].To, path[0].Ver, c[at])):
		return fmt.Errorf("%s did not read from %s before it read the overwritten version", name(p.h, c[at].From),
			name(p.h, c[at].To))
	}
	return nil
}

// readsFrom reports whether t reads version a, or a list whose last element of other transactions is a.
func readsFrom(h *history.History, t, a uint32) bool {
	lo, _ := h.TxnOps(t)
	return slices.ContainsFunc(listReads(h, t, h.VerKey[a]), func(op uint32) bool {
		return lastOfOthers(h, op, lo) == a
	}) || reads(h, t, a)
}

// readsInTurn reports whether t reads version a and later the version of the anti-dependency, each before any own write
// of its register.
func readsInTurn(h *history.History, t, a uint32, e evidence.Edge) bool {
	lo, hi := h.TxnOps(t)
	seen := false
	for op := lo; op < hi; op++ {
		if seen && (shows(h, op, lo, e.Ver) || showsState(h, op, lo, e)) {
			return true
		}
		seen = seen || shows(h, op, lo, a)
		if overwrites(h, op, e.Key) || !seen && overwrites(h, op, h.VerKey[a]) {
			return false
		}
	}
	return false
}

// shows reports whether an operation reads version v, or a list whose last element of other transactions is v. The
// transaction's operations begin at lo.
func shows(h *history.History, op, lo, v uint32) bool {
	switch h.Ops.Kind[op] {
	case history.Read:
		return h.Ops.Ver[op] == v
	case history.ReadList:
		return lastOfOthers(h, op, lo) == v && v != history.None
	case history.PredRead, history.PredWrite:
		i := h.Ops.Ver[op]
		return v != history.None && slices.Contains(h.Preds.Old[h.Preds.Off[i]:h.Preds.Off[i+1]], v)
	}
	return false
}

// showsState reports whether an operation reads the list in the state that an anti-dependency names.
func showsState(h *history.History, op, lo uint32, e evidence.Edge) bool {
	if h.Ops.Kind[op] != history.ReadList || h.OpKey(op) != e.Key {
		return false
	}
	v := lastOfOthers(h, op, lo)
	return v == e.Ver || v == h.InitVer[e.Key] && e.Writer == history.None
}

// overwrites reports whether an operation writes register k.
func overwrites(h *history.History, op, k uint32) bool {
	return h.Ops.Kind[op] != history.Append && writtenTo(h, op, k) != history.None
}

// rows follows predicate operation op of t, at place p, at read-committed. A row that it matched at a known version,
// and that t did not write before, is a read from that version's writer. For rows that t wrote before, it must agree
// with the write. For other keys it shows nothing: below snapshot isolation, a missed row may have come and gone while
// the operation ran.
func (r *resolver) rows(t, p, op uint32) error {
	h, x := r.x.h, r.x
	q := h.Ops.Ver[op]
	mine := func(k uint32) bool { return x.stamp[k] == p && r.wrote[k] }
	if r.match == nil {
		r.match = make([]uint32, h.NumKeys())
	}
	for row := h.Preds.Off[q]; row < h.Preds.Off[q+1]; row++ {
		k, v := h.RowKey(row), h.Preds.Old[row]
		r.match[k] = op + 1
		if mine(k) {
			if v != history.None && v != r.own[k] || v == history.None && x.truths.Of(q, k,
				r.own[k]) == predicates.False {
				return fmt.Errorf("%s matched %s, but had written that row as %s itself", name(h, t), h.KeyString(k),
					h.ValueString(r.own[k]))
			}
		} else if v != history.None {
			x.stamp[k], r.own[k], r.wrote[k] = p, v, false
			if err := x.from(t, p, op, v); err != nil {
				return err
			}
		}
	}
	for k := range r.ownKeys(t, p, op) {
		if r.match[k] != op+1 && x.truths.Of(q, k, r.own[k]) == predicates.True {
			return fmt.Errorf("%s did not match its own write of %s", name(h, t), h.KeyString(k))
		}
	}
	wrote(h, op, func(v uint32) {
		k := h.VerKey[v]
		x.stamp[k], r.own[k], r.wrote[k] = p, v, true
	})
	return nil
}

// ownKeys yields the keys that t, at place p, wrote before op, some of them several times.
func (r *resolver) ownKeys(t, p, op uint32) iter.Seq[uint32] {
	return func(yield func(k uint32) bool) {
		h := r.x.h
		lo, _ := h.TxnOps(t)
		each := func(v uint32) bool {
			k := h.VerKey[v]
			return r.x.stamp[k] != p || !r.wrote[k] || yield(k)
		}
		for o := lo; o < op; o++ {
			switch v := h.Ops.Ver[o]; h.Ops.Kind[o] {
			case history.Write:
				if !each(v) {
					return
				}
			case history.PredWrite:
				for _, v := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
					if !each(v) {
						return
					}
				}
			}
		}
	}
}
