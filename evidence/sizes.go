package evidence

import (
	"fmt"

	"isovet/history"
)

// Sizes is the size of a history and the number of its operations on which a verdict can depend.
type Sizes struct {
	Txns int `json:"txns"` // without invented ones
	// transactions that history readers made up for writers missing from the file
	Invented int `json:"invented_writers,omitempty"`
	Ops      int `json:"ops"` // of the file, where a compare-and-set is one operation
	Sessions int `json:"sessions"`
	Keys     int `json:"keys"`

	// Committed, Aborted and Unknown count the clients' transactions by outcome.
	Committed int `json:"committed"`
	Aborted   int `json:"aborted"`
	Unknown   int `json:"unknown"`
	// Reads counts the operations of committed transactions that say what they saw, predicate writes among them.
	Reads int `json:"reads"`
	// Asked counts the reads that clients asked for but that show nothing: of transactions that did not commit, and of
	// nil where that is no answer.
	Asked int `json:"-"`
}

// SizesOf returns the sizes of a history. The initial transaction counts as a transaction, but its session does not
// count as a client's; transactions that the reader of the file made up are counted separately. Cost: linear in the
// operations.
func SizesOf(h *history.History) Sizes {
	s := Sizes{Txns: h.NumTxns() - h.Invented(), Invented: h.Invented(), Ops: h.FileOps(0, uint32(h.NumTxns())),
		Sessions: h.NumSessions(), Keys: h.NumKeys()}
	if h.Init != history.None {
		s.Sessions--
	}
	for t, status := range h.Txns.Status {
		reads := &s.Asked
		switch {
		case uint32(t) == h.Init:
			continue
		case status == history.Aborted:
			s.Aborted++
		case status == history.Unknown:
			s.Unknown++
		default:
			s.Committed++
			reads = &s.Reads
		}
		lo, hi := h.TxnOps(uint32(t))
		for _, k := range h.Ops.Kind[lo:hi] {
			if k != history.Write && k != history.Append {
				*reads++
			}
		}
	}
	for _, n := range h.Notes {
		if n.Kind == history.NoteNil {
			s.Asked += n.Count
		}
	}
	s.Unknown -= s.Invented // invented transactions have unknown outcomes
	return s
}

// Nothing returns the reason why a history of these sizes shows nothing, "" if it may show something: no transaction
// committed, or clients asked for reads and none was answered. Every level holds for such a history, whatever the
// database does. A load that only writes is not such a history, since that is what its client meant: see
// [Sizes.WritesOnly].
func (s Sizes) Nothing() string {
	switch {
	case s.Committed == 0 && s.Aborted+s.Unknown == 0:
		return "inconclusive: the history has no transaction"
	case s.Committed == 0:
		return fmt.Sprintf("inconclusive: nothing was committed (transactions: %d aborted, %d of unknown outcome)",
			s.Aborted, s.Unknown)
	case s.Reads == 0 && s.Asked > 0:
		return fmt.Sprintf("inconclusive: nothing was read (transactions: %d committed, without a read)", s.Committed)
	}
	return ""
}

// WritesOnly reports whether transactions committed and no client asked for a read.
func (s Sizes) WritesOnly() bool { return s.Committed > 0 && s.Reads == 0 && s.Asked == 0 }

// Weigh changes "valid" to unknown for a history that shows nothing, with the reason of [Sizes.Nothing]. It is for
// programs that tell people a verdict: checkers decide a level by its definition, which holds for such a history.
func (r *Result) Weigh() {
	if why := r.Stats.Nothing(); why != "" && r.Verdict == Holds {
		r.Verdict, r.Reason, r.Order, r.Sources = Unknown, why, nil, nil
		r.Certified, r.NotByKernel = "", ""
	}
}
