package sqlite

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/internal/test/must"
)

// TestPlans: SQLite takes the plan that a table asks for, and its own where none is asked for or the condition is on a
// column without an index.
func TestPlans(t *testing.T) {
	db := must.Get(sql.Open("sqlite", "file:"+t.TempDir()+"/db"))(t)
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
		table := driver.Table{ID: i, Columns: []workload.Column{{Name: "a", Index: true}, {Name: "b"}}, Plan: c.plan}
		if c.unique {
			table.Unique = []int{0}
		}
		for _, q := range driver.CreateTables([]driver.Table{table}, "integer", "") {
			if _, err := db.ExecContext(context.Background(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			if strings.Contains(q, "index") && strings.Contains(q, "unique") != c.unique {
				t.Errorf("%s; expected a unique index: %v", q, c.unique)
			}
		}
		st := &driver.Statements{Columns: driver.ColumnsSQL{Tables: []driver.Table{table}, Hint: hint}}
		q := st.Where(i, []workload.Range{workload.Equal(c.column, 7)}, driver.Change{}, nil)[0]
		var a, b, n int
		var got string
		must.OK(t, db.QueryRowContext(context.Background(), "explain query plan "+q).Scan(&a, &b, &n, &got), "%s", q)
		if want := strings.ReplaceAll(c.want, "_tN", driver.TableName(i)[len("isovet"):]); got != want {
			t.Errorf("%v, column %d: %s is done by %q, expected %q", c.plan, c.column, q, got, want)
		}
	}
}
