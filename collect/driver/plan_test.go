package driver

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"isovet/datasets/workload"
)

// TestPlans: SQLite takes the plan that a table asks for, and its own where none is asked for or the condition is on a
// column without an index.
func TestPlans(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+t.TempDir()+"/db")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i, c := range []struct {
		plan   workload.Plan
		unique bool
		column int
		want   string
	}{
		{workload.AnyPlan, false, 0, "SEARCH isovet_tN USING INDEX isovet_tN_c_a (c_a=?)"},
		{workload.Sequential, false, 0, "SCAN isovet_tN"},
		{workload.ByIndex, false, 0, "SEARCH isovet_tN USING INDEX isovet_tN_c_a (c_a=?)"},
		{workload.ByIndex, true, 0, "SEARCH isovet_tN USING INDEX isovet_tN_c_a (c_a=?)"},
		{workload.IndexOnly, false, 0, "SEARCH isovet_tN USING COVERING INDEX isovet_tN_c_a (c_a=?)"},
		{workload.Bitmap, false, 0, "SEARCH isovet_tN USING INDEX isovet_tN_c_a (c_a=?)"},
		{workload.ByIndex, false, 1, "SCAN isovet_tN"},
	} {
		table := Table{ID: i, Columns: []workload.Column{{Name: "a", Index: true}, {Name: "b"}}, Plan: c.plan}
		if c.unique {
			table.Unique = []int{0}
		}
		for _, q := range createTables([]Table{table}, "integer", "") {
			if _, err := db.ExecContext(context.Background(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			if strings.Contains(q, "index") && strings.Contains(q, "unique") != c.unique {
				t.Errorf("%s; expected a unique index: %v", q, c.unique)
			}
		}
		st := &Statements{columns: columnsSQL{tables: []Table{table}, hint: sqliteHint}}
		q := st.Where(i, []workload.Range{workload.Equal(c.column, 7)}, Change{}, nil)[0]
		var a, b, n int
		var got string
		if err := db.QueryRowContext(context.Background(), "explain query plan "+q).Scan(&a, &b, &n, &got); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		if want := strings.ReplaceAll(c.want, "_tN", tableName(i)[len("isovet"):]); got != want {
			t.Errorf("%v, column %d: %s is done by %q, expected %q", c.plan, c.column, q, got, want)
		}
	}
}

// TestPlanSettings: of PostgreSQL's four ways to a row one is left.
func TestPlanSettings(t *testing.T) {
	if got := planSettings(workload.AnyPlan); got != nil {
		t.Errorf("%v where any plan will do", got)
	}
	for p := workload.Sequential; p <= workload.Bitmap; p++ {
		got := planSettings(p)
		on := slices.DeleteFunc(slices.Clone(got), func(q string) bool { return !strings.HasSuffix(q, " on") })
		if len(got) != 4 || len(on) != 1 {
			t.Errorf("%v: %v; expected one of four ways to be left", p, got)
		}
	}
}

// TestLockingWhere: what stands behind a predicate read that takes locks, and behind none that does not.
func TestLockingWhere(t *testing.T) {
	st := &Statements{columns: columnsSQL{tables: []Table{{Columns: []workload.Column{{Name: "a", Index: true}}}},
		lock: " for update", share: " for share"}}
	for _, c := range []struct {
		change Change
		want   string
	}{{Change{}, "order by k"}, {Change{Lock: true}, "order by k for update"},
		{Change{Share: true}, "order by k for share"}, {Change{Delete: true}, "order by k for update"}} {
		q := st.Where(0, []workload.Range{workload.Equal(0, 7)}, c.change, nil)
		if len(q) != 1 || !strings.HasSuffix(q[0], c.want) {
			t.Errorf("%+v: %q, expected one that ends with %q", c.change, q, c.want)
		}
	}
}
