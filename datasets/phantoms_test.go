package datasets

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestPredicateFaultsEverywhere plants them in contended runs at every isolation.
func TestPredicateFaultsEverywhere(t *testing.T) {
	for i, f := range PredicateFaults() {
		for j, iso := range Isolations() {
			spec := Spec{Workload: []string{"contended", "blindw-pred", "ycsb"}[(i+j)%3], Txns: 200, Sessions: 20,
				Keys: 100, Fault: f.Name, Isolation: iso, Seed: 3}
			switch spec.Workload {
			case "ycsb":
				spec.Variant = "E"
			case "blindw-pred":
				spec.Ops = 2
			}
			r, err := Run(context.Background(), spec)
			must.OK(t, err, "%+v", spec)
			if r.Stats.Committed != spec.Txns || len(r.Planted) == 0 {
				t.Fatalf("%+v: %d committed, planted %v", spec, r.Stats.Committed, r.Planted)
			}
		}
	}
}

// TestFaultsOfEmptyTables plants all faults in workloads that begin with empty tables, also at a moment at which there
// are no rows yet: the fault comes later then.
func TestFaultsOfEmptyTables(t *testing.T) {
	for i, f := range slices.Concat(Faults(), PredicateFaults()) {
		for seed := range histtest.Long[uint64](2, 8) {
			spec := Spec{Workload: []string{"booking", "claim"}[seed%2], Txns: 60, Sessions: 12, Seed: seed,
				Isolation: []string{"serializable", "snapshot-isolation", "serializable-snapshot",
					"read-committed"}[seed/2], FaultAt: 1, Fault: f.Name}
			r, err := Run(t.Context(), spec)
			must.OK(t, err, "%+v", spec)
			if n := len(r.Planted); n != strings.Count(f.Text, "\n")+1 || r.Stats.Committed != spec.Txns {
				t.Fatalf("%+v: %d transactions planted, %d committed", spec, n, r.Stats.Committed)
			}
		}
		if i%10 > 0 && histtest.Long(0, 1) == 0 {
			continue
		}
		for seed := range uint64(histtest.Long(1, 3)) {
			spec := Spec{Workload: "booking", Variant: "rush", Txns: 10, Sessions: 4, Seed: seed,
				Isolation: []string{"serializable", "snapshot-isolation", "serializable-snapshot"}[seed%3]}
			spec.Fault = f.Name
			isReal(t, spec, f, generate(t, spec), sixLevels)
		}
	}
}
