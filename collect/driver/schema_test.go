package driver

import (
	"slices"
	"testing"

	"isovet/datasets/workload"
)

// TestSchemaChanges: an index that statements name, or that keeps values apart, stays; every other is dropped and made
// again as it was.
func TestSchemaChanges(t *testing.T) {
	columns := []workload.Column{{Name: "a", Index: true}, {Name: "b", Index: true}, {Name: "c"}}
	has := func(plan workload.Plan, dialect, do, undo string) bool {
		return slices.Contains(SchemaChanges(dialect, Data{Tables: []Table{{Columns: columns, Unique: []int{1},
			Plan: plan}}}), SchemaChange{do, undo})
	}
	for _, x := range []struct{ dialect, drop string }{{"mysql", "drop index isovet_t0_c_a on isovet_t0"},
		{"sqlite", "drop index if exists isovet_t0_c_a"}, {"postgres", "drop index if exists isovet_t0_c_a"}} {
		again := "create index isovet_t0_c_a on isovet_t0(c_a)"
		if !has(workload.AnyPlan, x.dialect, x.drop, again) || has(workload.ByIndex, x.dialect, x.drop, again) {
			t.Errorf("%s: %q, then %q; expected without a plan only", x.dialect, x.drop, again)
		}
	}
	if got := SchemaChanges("", Data{}); got != nil {
		t.Errorf("of a database without SQL: %v", got)
	}
	if !has(0, "sqlite", "create index isovet_t0_x on isovet_t0(c_c)", "drop index if exists isovet_t0_x") {
		t.Error("the column without an index is given none")
	}
}
