package timestamp

import (
	"slices"
	"testing"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// TestTimestampFaults: Chronos, Aion and the definitions find each planted fault of timestamps, at its levels and in
// its transactions alone. The run without it is valid, and with it too if nobody trusts the timestamps.
func TestTimestampFaults(t *testing.T) {
	promised := map[string]level.Level{"serializable": level.SessionSerializable,
		"snapshot-isolation": level.SessionSnapshotIsolation}
	for _, f := range datasets.TimestampFaults() {
		for seed := range histtest.Long[uint64](40, 2500) {
			spec := datasets.Spec{Workload: []string{"mix", "rmw", "contended", "mini"}[seed%4], Txns: 7, Sessions: 4,
				Keys: 8, Seed: seed, DBTimes: true, Isolation: []string{"serializable", "snapshot-isolation"}[seed/4%2]}
			sound := must.Get(datasets.Run(t.Context(), spec))(t).History
			spec.Fault, spec.DBTimes = f.Name, false
			r := must.Get(datasets.Run(t.Context(), spec))(t)
			h, strict := r.History, level.StrictSnapshotIsolation
			if spec.Isolation == "serializable" {
				strict = level.StrictSerializable
			}
			for _, l := range []level.Level{promised[spec.Isolation], strict} {
				v := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
				must.Equal(t, v.Verdict, evidence.Holds, "%+v: without timestamps at %s", spec, l)
			}
			for _, l := range Levels() {
				if !promised[spec.Isolation].Implies(l) {
					continue // the store promises less
				}
				o := Options{Level: l}
				if n := len(must.Get(Chronos(t.Context(), sound, o))(t).Violations); n > 0 {
					t.Fatalf("%+v: %d violations of %s without a fault", spec, n, l)
				}
				c := must.Get(Chronos(t.Context(), h, o))(t)
				online := must.Get(AionOver(t.Context(), h, o))(t)
				for _, twin := range [][]Violation{naive(h, o), online.Violations} {
					must.Equal(t, describe(h, plain(h, c.Violations)), describe(h, plain(h, twin)), "%+v, %s", spec, l)
				}
				must.Equal(t, len(c.Violations) > 0, slices.Contains(f.Violates, l), "%+v: found at %s", spec, l)
				if slices.ContainsFunc(c.Violations, func(v Violation) bool {
					return !slices.Contains(r.Faults[0].Txns, h.Txns.ID[v.Txn])
				}) {
					t.Fatalf("%+v at %s: others than %v\n%s", spec, l, r.Faults[0].Txns, describe(h, c.Violations))
				}
			}
		}
	}
}
