package datasets_test

import (
	"context"
	"testing"

	"isovet/check/workloads"
	"isovet/datasets/objects"
	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestObjectsGenerate judges each workload's histories: those without a fault are valid, and those with one are not.
func TestObjectsGenerate(t *testing.T) {
	for _, name := range objects.Names() {
		t.Run(name, func(t *testing.T) {
			randtest.Seeds(t, 12, func(t testing.TB, seed uint64) {
				s := objects.Spec{Workload: name, Ops: 400, Clients: 2 + int(seed%4), Seed: seed, Faulty: seed%2 == 1}
				if seed%3 == 0 && name != "linear-counter" && name != "linear-set" && name != "unordered-queue" {
					s.Unknown = 0.05
				}
				if name == "stack" || name == "mutex" || name == "semaphore" {
					s.Unknown = 0
				}
				text, broke := objects.Generate(s)
				h := must.Get(operations.Read([]byte(text), "h.edn"))(t)
				w, _, err := workloads.Lookup(name)
				must.OK(t, err)
				a := must.Get(w.Check(context.Background(), h, workloads.Options{}))(t)
				expected := evidence.Holds
				if s.Faulty {
					expected = evidence.Violated
				}
				if a.Verdict != expected || s.Faulty != (broke > 0) {
					t.Fatalf("%s: %v %s %v; the fault is in line %d", name, a.Verdict, a.Reason, a.Counts, broke)
				}
				if again, _ := objects.Generate(s); again != text {
					t.Fatalf("%s: the same seed makes another history", name)
				}
			})
		})
	}
}
