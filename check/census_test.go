package check

import (
	"bytes"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/census"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestCensus: what is added to a violation is certified, of kinds that the level forbids, without repetition, and
// counted; the proof stays first. All that the census finds is evidence.
func TestCensus(t *testing.T) {
	const most = 2
	violated, more := 0, 0
	kinds := map[level.Anomaly]bool{}
	histtest.Each(t, 300, someHistory, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SnapshotIsolation,
			level.SessionSnapshotIsolation, level.ReadAtomic, level.Linearizable} {
			c, ok := Auto(h, l)
			if !ok {
				continue
			}
			r, err := Run(t.Context(), c, h, Options{Level: l})
			if err != nil || r.Verdict != evidence.Violated {
				continue
			}
			violated++
			before := slices.Clone(r.Anomalies)
			Census(t.Context(), r, Options{Level: l}, most)
			must.OK(t, certify.Check(r, certify.Options{}), "seed %d, %s", seed, l)
			more += len(r.Anomalies) - len(before)
			must.Equal(t, string(identity(&r.Anomalies[0], nil)), string(identity(&before[0], nil)), "proof, %d", seed)
			total, listed := 0, map[level.Anomaly]int{}
			for i := range r.Anomalies {
				a := &r.Anomalies[i]
				listed[a.Kind]++
				kinds[a.Kind] = true
				for j := range i {
					if i >= len(before) && bytes.Equal(identity(a, nil), identity(&r.Anomalies[j], nil)) {
						t.Errorf("seed %d, %s: %s is listed twice", seed, l, a.Kind)
					}
				}
			}
			for k, n := range r.Counts {
				if total += n; n < listed[k] || listed[k] > max(most, len(before)) {
					t.Errorf("seed %d, %s: %d of %d %s are listed", seed, l, listed[k], n, k)
				}
			}
			must.Be(t, r.Also >= 0 && total <= len(r.Anomalies)+r.Also,
				"seed %d, %s: %d counted, %d listed and %d more", seed, l, total, len(r.Anomalies), r.Also)
			out, may := r.Levels()
			if !slices.ContainsFunc(out, r.Level.Implies) || slices.ContainsFunc(may, func(m level.Level) bool {
				return m.Implies(l)
			}) {
				t.Errorf("seed %d, %s: %v is ruled out, %v may hold", seed, l, out, may)
			}
			if c, ok := Auto(h, level.ReadCommitted); ok && (l.Serial() || l.Snapshot()) && !h.HasPredicates() {
				rc := must.Get(Run(t.Context(), c, h, Options{Level: level.ReadCommitted}))(t)
				for _, a := range rc.Anomalies { // also of a read that differs from an earlier one
					other := len(a.Ops) == 0 && a.Kind != level.IncompatibleOrder ||
						len(a.Ops) > 0 && h.Txns.Status[h.TxnOf(a.Ops[0])] != history.Committed
					must.Equal(t, other || slices.Contains(out, rc.Level), true, "seed %d, %s: %s", seed, l, a.Kind)
				}
			}
			found, _, _ := census.Of(t.Context(), h, l, 0)
			evidence.CompleteAll(found, h, l, 0)
			for i := range found {
				if !l.Forbids(found[i].Kind) {
					continue
				}
				one := *r
				one.Anomalies, one.Also = found[i:i+1], 0
				must.Get(certify.Names(&one, certify.Options{}))(t)
			}
		}
	})
	histtest.Mix(t, violated < 100 || more < 30 || len(kinds) < 10, "%d violations, %d more: %v", violated, more, kinds)
}
