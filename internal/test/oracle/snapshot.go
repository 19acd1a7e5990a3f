package oracle

import "isovet/history"

// snapshot tries every sequence of begin and commit events, as evidence.Result.Order has them. All reads of a
// transaction are of its snapshot, so they are compared at its begin. A transaction that has begun must commit: it is
// stuck as soon as another commits a key that it writes, which is where first committer wins is applied. Sequences with
// the same events and the same current state have the same futures.
func (w *world) snapshot() (events []uint32, ok bool) {
	writes := make([]map[uint32]bool, len(w.txns))
	for i, t := range w.txns {
		writes[i] = map[uint32]bool{}
		lo, hi := w.h.TxnOps(t.id)
		for op := lo; op < hi; op++ {
			switch w.h.Ops.Kind[op] {
			case history.Write, history.Append:
				writes[i][w.h.OpKey(op)] = true
			case history.PredWrite:
				for _, r := range predRows(w.h, op) {
					writes[i][r.key] = true
				}
			}
		}
	}
	overlap := func(i, j int) bool {
		for k := range writes[i] {
			if writes[j][k] {
				return true
			}
		}
		return false
	}
	failed := map[string]bool{}
	var try func(begun, committed uint32, s state) bool
	try = func(begun, committed uint32, s state) bool {
		if committed&w.sure == w.sure && begun == committed {
			return true
		}
		key := s.key(begun, committed)
		if failed[key] {
			return false
		}
		step := func(event uint32, begun, committed uint32, s state) bool {
			events = append(events, event)
			if try(begun, committed, s) {
				return true
			}
			events = events[:len(events)-1]
			return false
		}
		for i, t := range w.txns {
			bit := uint32(1) << i
			switch {
			case begun&bit == 0:
				if t.before&^committed == 0 && s.clone().replay(w, t.id) && step(t.id<<1, begun|bit, committed, s) {
					return true
				}
			case committed&bit == 0:
				stuck := false
				for j := range w.txns {
					stuck = stuck || j != i && (begun&^committed)>>j&1 == 1 && overlap(i, j)
				}
				if stuck {
					continue
				}
				next := s.clone()
				next.install(w.h, t.id)
				if step(t.id<<1|1, begun, committed|bit, next) {
					return true
				}
			}
		}
		failed[key] = true
		return false
	}
	ok = try(0, 0, w.initial())
	return events, ok
}

// install makes the writes of t current, its last write of a key last.
func (s state) install(h *history.History, t uint32) {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		switch h.Ops.Kind[op] {
		case history.Write:
			s.reg[h.OpKey(op)] = h.Ops.Ver[op]
		case history.PredWrite:
			s.update(h, op)
		case history.Append:
			s.list[h.OpKey(op)] = append(s.list[h.OpKey(op)], h.Ops.Ver[op])
		}
	}
}
