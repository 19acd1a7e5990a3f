package certify

import (
	"fmt"

	"isovet/history"
	"isovet/predicates"
)

// rows follows predicate operation op of t, at place p, at read-committed: what it matched at a known version, and did not write itself
// before, is read from the writer of that; of what t wrote before, it must agree with that. Of the other keys it says nothing: below
// snapshot isolation, what was missed may have come and gone between one row and the next.
func (x *commitOrder) rows(t, p, op uint32, writer, own []uint32, wroteKey []bool) error {
	h := x.h
	q := h.Ops.Ver[op]
	lo, _ := h.TxnOps(t)
	mine := func(k uint32) bool { return x.stamp[k] == p && wroteKey[k] }
	matched := make(map[uint32]bool)
	for r := h.Preds.Off[q]; r < h.Preds.Off[q+1]; r++ {
		k, v := rowKey(h, r), h.Preds.Old[r]
		matched[k] = true
		switch {
		case mine(k) && (v != history.None && v != own[k] || v == history.None && x.truths.Of(q, k, own[k]) == predicates.False):
			return fmt.Errorf("%s matched %s where it had made that %s itself", name(h, t), h.KeyString(k), h.ValueString(own[k]))
		case mine(k) || v == history.None:
			continue
		}
		x.stamp[k], own[k], wroteKey[k] = p, v, false
		w, err := x.source(op, t, v, writer[v])
		switch {
		case err != nil:
			return err
		case w == history.None:
			return fmt.Errorf("%s matched %s = %s, which no transaction of the order installs", name(h, t), h.KeyString(k), h.ValueString(v))
		case w >= p:
			return fmt.Errorf("%s reads from %s, which comes not before it", name(h, t), name(h, x.order[w-1]))
		default:
			x.reads = append(x.reads, weakRead{k, w, op})
		}
	}
	var err error
	for o := lo; o < op; o++ {
		wrote(h, o, func(v uint32) {
			if k := h.VerKey[v]; mine(k) && !matched[k] && x.truths.Of(q, k, own[k]) == predicates.True {
				err = fmt.Errorf("%s did not match its own write of %s", name(h, t), h.KeyString(k))
			}
		})
	}
	if err != nil || h.Ops.Kind[op] != history.PredWrite {
		return err
	}
	wrote(h, op, func(v uint32) {
		k := h.VerKey[v]
		x.stamp[k], own[k], wroteKey[k] = p, v, true
	})
	return nil
}
