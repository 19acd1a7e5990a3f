package view

import (
	"slices"

	"isovet/history"
)

func (a *around) listKey(k uint32) bool {
	return slices.ContainsFunc(touches(a.h, a.t, k), func(c touch) bool {
		return c.list || a.h.Ops.Kind[c.op] == history.Append
	})
}

// longest returns the longest read of a list by a committed transaction. It shows the order of the elements.
func (a *around) longest(k uint32) (elems []uint32) {
	for _, t := range a.b.keys.Load().of(k) {
		if a.h.Txns.Status[t] != history.Committed {
			continue
		}
		for _, c := range touches(a.h, t, k) {
			if c.list && len(a.h.Elems(c.ver)) > len(elems) {
				elems = a.h.Elems(c.ver)
			}
		}
	}
	return elems
}

// list adds the edges of a list. The longest read shows the order of the appends. Each read shows the last append that
// it saw, and so the first that it did not see.
func (a *around) list(k uint32) {
	b, h, t := a.b, a.h, a.t
	order := a.longest(k)
	writer := func(i int) uint32 {
		if i < 0 || i >= len(order) {
			return history.None
		}
		return b.soleWriter(k, order[i])
	}
	mine := map[int]bool{} // places of own elements
	for i, e := range order {
		if writer(i) == t {
			mine[i] = true
			if w := writer(i - 1); w != history.None {
				a.ww(w, t, k, e, true, "")
			}
			if w := writer(i + 1); w != history.None {
				a.ww(t, w, k, order[i+1], true, "")
			}
		}
	}
	for _, r := range b.keys.Load().of(k) {
		for _, c := range touches(h, r, k) {
			if !c.list {
				continue
			}
			seen := h.Elems(c.ver)
			n := len(seen)
			last, from := history.None, history.None
			if n > 0 {
				last = seen[n-1]
				from = b.soleWriter(k, last)
			}
			if from != history.None && (r == t || from == t) {
				a.wr(from, r, k, last, true, "")
			}
			if next := writer(n); next != history.None && (r == t || mine[n]) {
				a.rw(r, next, k, last, from, true, "")
			}
		}
	}
}
