package certify

import (
	"fmt"
	"iter"

	"isovet/history"
	"isovet/predicates"
)

// rows follows predicate operation op of t, at place p, at read-committed: what it matched at a known version, and did
// not write itself before, is read from the writer of that; of what t wrote before, it must agree with that. Of the
// other keys it says nothing: below snapshot isolation, what was missed may have come and gone between one row and the
// next.
func (r *resolver) rows(t, p, op uint32) error {
	h, x := r.x.h, r.x
	q := h.Ops.Ver[op]
	mine := func(k uint32) bool { return x.stamp[k] == p && r.wrote[k] }
	if r.match == nil {
		r.match = make([]uint32, h.NumKeys())
	}
	for row := h.Preds.Off[q]; row < h.Preds.Off[q+1]; row++ {
		k, v := rowKey(h, row), h.Preds.Old[row]
		r.match[k] = op + 1
		if mine(k) {
			if v != history.None && v != r.own[k] || v == history.None && x.truths.Of(q, k,
				r.own[k]) == predicates.False {
				return fmt.Errorf("%s matched %s where it had made that %s itself", name(h, t), h.KeyString(k),
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

// ownKeys goes through the keys that t, at place p, wrote before op, some of them several times.
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
