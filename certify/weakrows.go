package certify

import (
	"fmt"

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
	matched := make(map[uint32]bool)
	for row := h.Preds.Off[q]; row < h.Preds.Off[q+1]; row++ {
		k, v := rowKey(h, row), h.Preds.Old[row]
		matched[k] = true
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
	for a := range accesses(h, t) {
		if a.op < op && a.wrote != history.None && mine(a.key) && !matched[a.key] && x.truths.Of(q, a.key,
			r.own[a.key]) == predicates.True {
			return fmt.Errorf("%s did not match its own write of %s", name(h, t), h.KeyString(a.key))
		}
	}
	wrote(h, op, func(v uint32) {
		k := h.VerKey[v]
		x.stamp[k], r.own[k], r.wrote[k] = p, v, true
	})
	return nil
}
