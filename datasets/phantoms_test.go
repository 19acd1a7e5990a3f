package datasets

import (
	"context"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/level"
)

// TestPredicateAnomaliesByBruteForce recomputes the verdicts of the catalogue from the definitions.
func TestPredicateAnomaliesByBruteForce(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range slices.Concat(Anomalies(), PredicateAnomalies()) {
		if seen[a.Name] {
			t.Errorf("%s stands in the catalogues twice", a.Name)
		}
		seen[a.Name] = true
	}
	for _, a := range PredicateAnomalies() {
		h := a.History()
		if !h.HasPredicates() {
			t.Errorf("%s has no predicates", a.Name)
		}
		for _, l := range sixLevels {
			if got, want := satisfies(t, h, l), !slices.Contains(a.Violates, l); got != want {
				t.Errorf("%s at %s: satisfied %v, catalogue says %v\n%s", a.Name, l, got, want, a.Text)
			}
			for _, m := range sixLevels {
				if m.Implies(l) && slices.Contains(a.Violates, l) && !slices.Contains(a.Violates, m) {
					t.Errorf("%s violates %s, hence %s", a.Name, l, m)
				}
			}
		}
	}
}

// TestPredicateFaultsAreReal plants every fault of predicates in small runs of every kind of store that keeps its own
// promise, workloads with predicates of their own among them, and recomputes the verdicts of the whole history.
func TestPredicateFaultsAreReal(t *testing.T) {
	ctx := context.Background()
	for _, f := range PredicateFaults() {
		for seed := range uint64(12) {
			spec := Spec{
				Workload: []string{"mix", "rmw", "blindw-pred", "smallbank"}[seed%4], Txns: 6, Sessions: 4, Keys: 10,
				Ops: 2, Seed: seed,
				Isolation: []string{"serializable", "snapshot-isolation", "serializable-snapshot"}[seed%3],
			}
			if spec.Workload == "smallbank" {
				spec.Ops, spec.Keys = 0, 3
			}
			if seed%2 == 1 {
				spec.FaultAt = 1
			}
			top := map[string]level.Level{"serializable": level.StrictSerializable,
				"snapshot-isolation":    level.StrictSnapshotIsolation,
				"serializable-snapshot": level.Serializable}[spec.Isolation]
			if clean := generate(t, spec); !satisfies(t, clean, top) {
				t.Fatalf("%+v without fault violates %s", spec, top)
			}
			spec.Fault = f.Name
			r, err := Run(ctx, spec)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(r.Planted); n != strings.Count(f.Text, "\n")+1 || r.Stats.Committed != spec.Txns {
				t.Fatalf("%+v: %d transactions planted, %d committed", spec, n, r.Stats.Committed)
			}
			for _, l := range sixLevels {
				got := satisfies(t, r.History, l)
				if bad := slices.Contains(f.Violates, l); bad && got {
					t.Errorf("seed %d: planted %s satisfies %s", seed, f.Name, l)
				} else if !bad && !got && top.Implies(l) {
					t.Errorf("seed %d: planted %s violates %s too", seed, f.Name, l)
				}
			}
		}
	}
}

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
			if err != nil {
				t.Fatalf("%+v: %v", spec, err)
			}
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
			if err != nil {
				t.Fatalf("%+v: %v", spec, err)
			}
			if n := len(r.Planted); n != strings.Count(f.Text, "\n")+1 || r.Stats.Committed != spec.Txns {
				t.Fatalf("%+v: %d transactions planted, %d committed", spec, n, r.Stats.Committed)
			}
		}
		if i%5 > 0 && histtest.Long(0, 1) == 0 {
			continue
		}
		for seed := range uint64(histtest.Long(1, 3)) {
			spec := Spec{Workload: "booking", Variant: "rush", Txns: 10, Sessions: 4, Seed: seed,
				Isolation: []string{"serializable", "snapshot-isolation", "serializable-snapshot"}[seed%3]}
			top := map[string]level.Level{"serializable": level.StrictSerializable,
				"snapshot-isolation":    level.StrictSnapshotIsolation,
				"serializable-snapshot": level.Serializable}[spec.Isolation]
			spec.Fault = f.Name
			h := generate(t, spec)
			for _, l := range sixLevels {
				got := satisfies(t, h, l)
				if bad := slices.Contains(f.Violates, l); bad && got {
					t.Errorf("%+v: planted %s satisfies %s", spec, f.Name, l)
				} else if !bad && !got && top.Implies(l) {
					t.Errorf("%+v: planted %s violates %s too", spec, f.Name, l)
				}
			}
		}
	}
}
