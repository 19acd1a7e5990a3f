package report

import (
	"cmp"

	"isovet/evidence"
	"isovet/history"
)

// TxnName returns the name of a transaction in pages: T7 has id 7 in the file.
func TxnName(h *history.History, t uint32) string {
	if t == history.None {
		return "the initial state"
	}
	return txnName(h, t)
}

// EachKey calls f for each key of an operation, and says whether the operation reads and whether it writes it.
func EachKey(h *history.History, op uint32, f func(k uint32, reads, writes bool)) {
	switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
	case history.Read:
		f(h.VerKey[v], true, false)
	case history.Write, history.Append:
		f(h.VerKey[v], false, true)
	case history.ReadList:
		f(h.Lists.Key[v], true, false)
	case history.PredRead, history.PredWrite:
		for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
			was, now := h.Preds.Old[j], h.Preds.New[j]
			switch {
			case now != history.None:
				f(h.VerKey[now], was != history.None, true)
			case was != history.None:
				f(h.VerKey[was], true, false)
			}
		}
	}
}

// Sentence says why an edge holds, as a page does. rests lists the operations behind it with their places in the file,
// the assumptions and, for an edge of anomaly a, the argument that settled it. Cost: linear in the two transactions
// and the anomaly.
func Sentence(r *evidence.Result, a *evidence.Anomaly, e evidence.Edge) (text string, rests []string) {
	one := evidence.Anomaly{Cycle: []evidence.Edge{e}}
	s := newScene(r.H, []evidence.Anomaly{one})
	a = cmp.Or(a, &one)
	return why(r.H, e), restsOn(r, a, s, e)
}
