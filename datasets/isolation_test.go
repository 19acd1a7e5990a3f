package datasets

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// committed returns the committed transactions by commit timestamp; those of unknown outcome that took effect are left
// out, so only histories without any can be replayed.
func committed(h *history.History) []uint32 {
	var out []uint32
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && h.Txns.Status[t] == history.Committed {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b uint32) int { return cmp.Compare(h.CommitTS(a), h.CommitTS(b)) })
	return out
}

// intervals checks that client times are nested and run forwards.
func intervals(h *history.History) error {
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			continue
		}
		at := h.Start(t)
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if h.OpStart(op) <= at || h.OpEnd(op) <= h.OpStart(op) {
				return fmt.Errorf("transaction %d: operation %d has times [%d, %d] after %d", h.Txns.ID[t], op-lo,
					h.OpStart(op), h.OpEnd(op), at)
			}
			at = h.OpEnd(op)
		}
		if h.End(t) != history.NoTime && h.End(t) <= at {
			return fmt.Errorf("transaction %d ends at %d, before its last operation", h.Txns.ID[t], h.End(t))
		}
	}
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		for i := 1; i < len(in); i++ {
			if h.End(in[i-1]) != history.NoTime && h.Start(in[i]) <= h.End(in[i-1]) {
				return fmt.Errorf("transaction %d begins before %d of its session ends", h.Txns.ID[in[i]],
					h.Txns.ID[in[i-1]])
			}
		}
	}
	return nil
}

// explains returns nil if the commits, or the begins and commits, in the order of the database's timestamps explain a
// run at a level.
func explains(h *history.History, l level.Level) error {
	r := &evidence.Result{Verdict: evidence.Holds, Level: l, H: h, Order: committed(h)}
	if l.Snapshot() {
		var events []uint32
		for _, t := range r.Order {
			events = append(events, t<<1, t<<1|1)
		}
		at := func(e uint32) int64 {
			if e&1 == 1 {
				return h.CommitTS(e >> 1)
			}
			return h.StartTS(e >> 1)
		}
		slices.SortStableFunc(events, func(a, b uint32) int { return cmp.Compare(at(a), at(b)) })
		r.Order = events
	}
	return certify.Check(r, certify.Options{})
}

// checked is what a checker says.
func checked(t *testing.T, h *history.History, l level.Level) evidence.Verdict {
	t.Helper()
	c, why := check.Choose(check.AutoName, "", h, l)
	if c == nil {
		t.Fatal(why)
	}
	return must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t).Verdict
}

// TestIsolation: the order of the store's own timestamps explains a run at what its isolation promises, and real time.
func TestIsolation(t *testing.T) {
	for i, s := range specs() {
		if i%5 > 0 && !histtest.Long(false, true) {
			continue
		}
		for s.Seed = range histtest.Long[uint64](1, 3) {
			for _, s.Isolation = range []string{"serializable", "snapshot-isolation", "serializable-snapshot"} {
				h := generate(t, s)
				must.Equal(t, len(committed(h)), s.Txns, "%+v: committed", s)
				must.OK(t, intervals(h), "%+v", s)
				if s.UnknownRate > 0 {
					continue // some of them took effect
				}
				must.OK(t, explains(h, level.StrictSnapshotIsolation), "%+v", s)
				if s.Isolation == "serializable" {
					must.OK(t, explains(h, level.StrictSerializable), "%+v", s)
				} else if s.Isolation == "serializable-snapshot" {
					must.Equal(t, checked(t, h, level.Serializable), evidence.Holds, "%+v", s)
				}
			}
		}
	}
}

// TestIsolationIsWeak: each isolation shows what it permits, on workloads that ask for it, and nothing else.
func TestIsolationIsWeak(t *testing.T) {
	rmw := Spec{Workload: "rmw", Keys: 20, Txns: 500, DBTimes: true, AbortRate: 0.05}
	bank := Spec{Workload: "smallbank", Keys: 5, Txns: 2000, DBTimes: true}
	for _, c := range []struct {
		spec        Spec
		isolation   string
		rc, si, ser evidence.Verdict
	}{
		{rmw, "read-uncommitted", evidence.Violated, evidence.Violated, evidence.Violated},
		{rmw, "read-committed", evidence.Holds, evidence.Violated, evidence.Violated},
		{bank, "snapshot-isolation", evidence.Holds, evidence.Holds, evidence.Violated},
		{bank, "serializable-snapshot", evidence.Holds, evidence.Holds, evidence.Holds},
		{rmw, "serializable", evidence.Holds, evidence.Holds, evidence.Holds},
	} {
		c.spec.Isolation = c.isolation
		h := generate(t, c.spec)
		for l, want := range map[level.Level]evidence.Verdict{level.ReadCommitted: c.rc, level.SnapshotIsolation: c.si,
			level.Serializable: c.ser} {
			must.Equal(t, checked(t, h, l), want, "%+v at %s", c.spec, l)
		}
	}
}
