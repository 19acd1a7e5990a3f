package datasets

import (
	"context"
	"slices"
	"testing"

	"isovet/history"
)

// TestFences: a session's committed transactions have a fence after each so many others, and each fence reads what the
// one before it wrote.
func TestFences(t *testing.T) {
	const every = 7
	h, err := Generate(context.Background(), Spec{Workload: "smallbank", Txns: 1000, Sessions: 5, FenceEvery: every,
		Isolation: "serializable-snapshot"})
	if err != nil {
		t.Fatal(err)
	}
	key := uint32(slices.IndexFunc(h.Keys, func(k history.Value) bool {
		return k.Kind == history.String && string(h.Texts.Text(uint32(k.N))) == "epoch/0"
	}))
	fences := 0
	read := make(map[uint32]bool)
	for s := range h.NumSessions() {
		since := 0
		for _, x := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if h.Txns.Status[x] != history.Committed || x == h.Init {
				continue
			}
			lo, hi := h.TxnOps(x)
			if h.OpKey(lo) != key {
				since++
				if since > every {
					t.Fatalf("session %d: %d transactions without a fence", s, since)
				}
				continue
			}
			if hi-lo != 2 || h.Ops.Kind[lo] != history.Read || h.Ops.Kind[lo+1] != history.Write ||
				h.OpKey(lo+1) != key {
				t.Fatalf("transaction %d is no fence", h.Txns.ID[x])
			}
			if read[h.Ops.Ver[lo]] {
				t.Errorf("transaction %d: another fence has replaced what it read", h.Txns.ID[x])
			}
			read[h.Ops.Ver[lo]] = true
			fences++
			since = 0
		}
	}
	if fences < 100 {
		t.Errorf("%d fences", fences)
	}
	if _, err := Generate(context.Background(), Spec{FenceEvery: -1}); err == nil {
		t.Error("a negative number is taken")
	}
}
