package postgres

import (
	"slices"
	"strings"
	"testing"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/internal/test/must"
)

// TestPlanSettings: of PostgreSQL's four ways to a row one is left.
func TestPlanSettings(t *testing.T) {
	if got := planSettings(workload.AnyPlan); got != nil {
		t.Errorf("%v where any plan will do", got)
	}
	for p := workload.Sequential; p <= workload.BRIN; p++ {
		got := planSettings(p)
		on := slices.DeleteFunc(slices.Clone(got), func(q string) bool { return !strings.HasSuffix(q, " on") })
		if len(got) != 4 || len(on) != 1 {
			t.Errorf("%v: %v; expected one of four ways to be left", p, got)
		}
	}
}

// TestKinds: an index of another kind, what it needs, and the condition that it answers.
func TestKinds(t *testing.T) {
	for plan, want := range map[workload.Plan]string{
		workload.ByIndex: "create index isovet_t0_c_a on isovet_t0(c_a); c_a = 7",
		workload.Hash:    "create index isovet_t0_c_a on isovet_t0 using hash (c_a); c_a = 7",
		workload.GIN: "create extension if not exists btree_gin; " +
			"create index isovet_t0_c_a on isovet_t0 using gin (c_a); c_a = '7'",
		workload.TIDRange: "create index isovet_t0_c_a on isovet_t0(c_a); c_a = 7 and ctid >= '(0,0)'",
		workload.BRIN:     "create index isovet_t0_c_a on isovet_t0 using brin (c_a); c_a = 7"} {
		tables := []driver.Table{{Columns: []workload.Column{{Name: "a", Index: true}}, Plan: plan}}
		p := &server{info: driver.Info{Name: "PostgreSQL 15.1"}, data: driver.Data{Tables: tables}}
		said := slices.DeleteFunc(p.makes(p.data), func(q string) bool { return strings.HasPrefix(q, "create table") })
		q := p.Statements().Where(0, []workload.Range{workload.Equal(0, 7)}, driver.Change{}, nil)[0]
		must.Equal(t, strings.Join(said, "; ")+"; "+q[len("select k, u, c_a from isovet_t0 where "):],
			want+" order by k", "%v", plan)
	}
}
