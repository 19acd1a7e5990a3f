package datasets

import (
	"context"
	"encoding/json"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// doubleBookings replays the committed transactions of a booking run in the order of their commits, and counts those
// that leave a room booked twice at a time.
func doubleBookings(t *testing.T, h *history.History) int {
	type booking struct{ Room, Start, End *int64 }
	rooms := map[uint32]booking{} // key → booking
	n := 0
	for _, x := range committed(h) {
		bad := false
		put := func(v uint32) {
			k := h.VerKey[v]
			delete(rooms, k)
			if h.VerKind[v] == history.Null {
				return
			}
			var b booking
			must.OK(t, json.Unmarshal([]byte(h.ValueString(v)), &b))
			if b.Room == nil {
				return // an invoice
			}
			for _, c := range rooms {
				bad = bad || *b.Room == *c.Room && *b.Start < *c.End && *c.Start < *b.End
			}
			rooms[k] = b
		}
		lo, hi := h.TxnOps(x)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Write:
				put(v)
			case history.PredWrite:
				for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
					put(h.Preds.New[j])
				}
			}
		}
		if bad {
			n++
		}
	}
	return n
}

// TestPhantoms: what does not lock or mark conditions books rooms twice, what does never.
func TestPhantoms(t *testing.T) {
	for iso, phantoms := range map[string]bool{
		"serializable": false, "serializable-snapshot": false,
		"snapshot-isolation": true, "repeatable-read": true, "read-committed": true, "read-uncommitted": true,
	} {
		for seed := range histtest.Long[uint64](1, 8) {
			spec := Spec{Workload: "booking", Variant: "rush", Txns: 1500, Keys: 8, Isolation: iso, Seed: seed,
				DBTimes: true}
			if n := doubleBookings(t, generate(t, spec)); n > 0 != phantoms {
				t.Errorf("%s, seed %d: %d double bookings", iso, seed, n)
			}
		}
	}
}

// TestClaim: at most one transaction finds a number free where conditions are locked or marked, several elsewhere.
func TestClaim(t *testing.T) {
	for _, c := range []struct {
		iso  string
		free bool // that several find one number free
	}{{"serializable", false}, {"serializable-snapshot", false}, {"repeatable-read", true}, {"snapshot-isolation",
		true}, {"read-committed", true}} {
		h := generate(t, Spec{Workload: "claim", Txns: 2000, Isolation: c.iso, DBTimes: true})
		free := map[string]int{}
		most := 0
		for _, x := range committed(h) {
			lo, hi := h.TxnOps(x)
			if i := h.Ops.Ver[lo]; hi > lo+1 && h.Preds.Off[i] == h.Preds.Off[i+1] {
				p := string(h.Texts.Text(h.Preds.Pred[i]))
				free[p]++
				most = max(most, free[p])
			}
		}
		if len(free) < 50 || most > 1 != c.free {
			t.Errorf("%s: %d numbers claimed, one of them %d times", c.iso, len(free), most)
		}
	}
}

// TestUnknownOld: the share of predicate writes without old versions, and nothing else, depends on the option.
func TestUnknownOld(t *testing.T) {
	for _, share := range []float64{0, 0.5, 1} {
		h := generate(t, Spec{Workload: "blindw-pred", Txns: 300, Keys: 500, UnknownOld: share})
		var n, unknown float64
		for op, k := range h.Ops.Kind {
			i := h.Ops.Ver[op]
			if k != history.PredRead && k != history.PredWrite || h.Preds.Off[i] == h.Preds.Off[i+1] {
				continue
			}
			first := h.Preds.Old[h.Preds.Off[i]] == history.None
			for j := h.Preds.Off[i]; j < h.Preds.Off[i+1]; j++ {
				if is := h.Preds.Old[j] == history.None; is != first || is && k == history.PredRead {
					t.Fatal("an unknown old version that should be known")
				}
			}
			if k == history.PredWrite {
				n++
				if first {
					unknown++
				}
			}
		}
		if got := unknown / n; got < share-0.1 || got > share+0.1 {
			t.Errorf("%.2f of the predicate writes lack old versions; expected %.2f", got, share)
		}
	}
	if _, err := Generate(context.Background(), Spec{UnknownOld: 2}); err == nil {
		t.Error("a share of 2 is no error")
	}
}
