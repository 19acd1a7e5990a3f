package certify

import (
	"fmt"
	"slices"

	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

// wrong proves that t's read op violates the axiom. For an external read it also says why. If op shows a row in two
// wrong versions, it prefers the reason asked.
func (s *stamps) wrong(kind level.Anomaly, t, op, k uint32, asked string) (why string, err error) {
	h := s.h
	v := h.Ops.Ver[op]
	lo, _ := h.TxnOps(t)
	fails := func(internal bool) error {
		if internal != (kind == level.Int) {
			return fmt.Errorf("the anomaly's kind and the transaction's own earlier operations contradict each other")
		}
		return nil
	}
	switch h.Ops.Kind[op] {
	case history.Read:
		k := h.VerKey[v]
		if own, ok := lastTouch(h, t, k, op); ok {
			if own == v {
				return "", fmt.Errorf("the read agrees with the transaction's own operation before it")
			}
			return "", fails(true)
		}
		if s.current(t, k) == v {
			return "", fmt.Errorf("the read returns the version in the snapshot")
		}
		return s.why(t, v), fails(false)
	case history.ReadList:
		return s.wrongList(t, op, lo, fails)
	}
	// op is a predicate operation; the anomaly is about k.
	want, mine := s.current(t, k), false
	if w, ver := lastWrite(h, t, k, op); w != history.None {
		want, mine = ver, true
	}
	truth := s.truths.Of(v, k, want)
	any, bad := false, false
	for r := h.Preds.Off[v]; r < h.Preds.Off[v+1]; r++ {
		if h.RowKey(r) != k {
			continue
		}
		any = true
		old := h.Preds.Old[r]
		switch {
		case bad && why == asked:
		case old != history.None && old != want:
			why = s.why(t, old)
		case truth == predicates.False:
			why = "phantom"
		default:
			continue
		}
		bad = true
		if mine {
			why = ""
		}
	}
	if bad {
		return why, fails(mine)
	}
	if any {
		return "", fmt.Errorf("the read shows the row in the version that its snapshot has, as it should")
	}
	if truth != predicates.True {
		return "", fmt.Errorf("the predicate is not true of the row that the read missed")
	}
	if mine {
		return "", fails(true)
	}
	return "phantom", fails(false)
}

// lastTouch returns the version that t's last operation on register k before op wrote or saw.
func lastTouch(h *history.History, t, k, op uint32) (ver uint32, ok bool) {
	lo, _ := h.TxnOps(t)
	for o := op; o > lo; o-- {
		v := h.Ops.Ver[o-1]
		switch h.Ops.Kind[o-1] {
		case history.Read, history.Write:
			if h.VerKey[v] == k {
				return v, true
			}
		case history.PredRead, history.PredWrite:
			for r := h.Preds.Off[v+1]; r > h.Preds.Off[v]; r-- {
				if h.RowKey(r-1) != k {
					continue
				}
				if h.Ops.Kind[o-1] == history.PredWrite {
					return h.Preds.New[r-1], true
				}
				return h.Preds.Old[r-1], true
			}
		}
	}
	return history.None, false
}

// wrongList does the work of wrong for a list read. The list must be what the transaction's own earlier read shows, or
// else what was committed before, followed by its own appends since.
func (s *stamps) wrongList(t, op, lo uint32, fails func(internal bool) error) (why string, err error) {
	h := s.h
	k := h.OpKey(op)
	got := h.Elems(h.Ops.Ver[op])
	for o := op; o > lo; o-- {
		if h.OpKey(o-1) != k {
			continue
		}
		if h.Ops.Kind[o-1] == history.Append {
			if len(got) == 0 || got[len(got)-1] != h.Ops.Ver[o-1] {
				return "", fails(true)
			}
			got = got[:len(got)-1]
			continue
		}
		if slices.Equal(got, h.Elems(h.Ops.Ver[o-1])) {
			return "", fmt.Errorf("the list agrees with the transaction's own operations before it")
		}
		return "", fails(true)
	}
	committed := s.list(t, k)
	if slices.Equal(got, committed) {
		return "", fmt.Errorf("the read returns the list in the snapshot")
	}
	for i, e := range got {
		if i >= len(committed) || committed[i] != e {
			if why := s.why(t, e); why != "before" {
				return why, fails(false)
			}
		}
	}
	return "before", fails(false)
}

// why says what is wrong with an external read of version v. If v has several writers, it takes the least wrong one.
func (s *stamps) why(t, v uint32) string {
	h := s.h
	begin, _ := s.span(t)
	if h.InitVer[h.VerKey[v]] == v {
		return "before"
	}
	worst := []string{"never written", "own", "aborted", "intermediate", "before", "uncommitted", "after"}
	best := 0
	for _, w := range s.wanted[v] {
		n := 0
		switch c := h.CommitTS(w.txn); {
		case w.txn == t:
			n = 1
		case w.txn == h.Init:
			n = 4
		case !h.TimestampsCommit(w.txn) || h.StartTS(w.txn) > c:
			n = 2
		case !w.final:
			n = 3
		case c <= begin:
			n = 4
		case h.StartTS(w.txn) <= begin:
			n = 5
		default:
			n = 6
		}
		best = max(best, n)
	}
	return worst[best]
}
