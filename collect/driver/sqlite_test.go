package driver_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"isovet/collect/driver"
	"isovet/collect/driver/sqlite"
	"isovet/datasets/workload"
	"isovet/internal/test/must"
)

// TestSQLitePlans: SQLite takes the plan that a table asks for, and its own where none is asked for or the condition is
// on a column without an index.
func TestSQLitePlans(t *testing.T) {
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
		st := &driver.Statements{Columns: driver.ColumnsSQL{Tables: []driver.Table{table}, Hint: sqlite.Hint}}
		q := st.Where(i, []workload.Range{workload.Equal(c.column, 7)}, driver.Change{}, nil)[0]
		var a, b, n int
		var got string
		must.OK(t, db.QueryRowContext(context.Background(), "explain query plan "+q).Scan(&a, &b, &n, &got), "%s", q)
		if want := strings.ReplaceAll(c.want, "_tN", driver.TableName(i)[len("isovet"):]); got != want {
			t.Errorf("%v, column %d: %s is done by %q, expected %q", c.plan, c.column, q, got, want)
		}
	}
}

// TestSQLiteTablesMadeAnew: a session on a connection that has seen the tables of another load begins with those of its
// own, even with an insert, and without the transaction that a session before it has left.
func TestSQLiteTablesMadeAnew(t *testing.T) {
	d := must.Get(driver.Open(t.Context(), []string{"sqlite:"}, driver.Options{}))(t)
	defer d.Close()
	for n := 1; n < 4; n++ {
		table := driver.Table{Columns: []workload.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}}[:n],
			Rows: func(func(int64, []int64) bool) {}}
		must.OK(t, d.Load(t.Context(), driver.Data{Rows: func(func(int64, driver.Row) bool) {},
			Tables: []driver.Table{table}}))
		var all []driver.Session
		for range 3 {
			s := must.Get(d.Connect(t.Context(), 0))(t)
			all = append(all, s)
		}
		for i, s := range all {
			must.OK(t, s.Begin(), "%d columns", n)
			must.OK(t, s.(driver.Columnar).PutRow(0, int64(i), make([]int64, 1+n)), "%d columns", n)
			if i == 0 {
				must.OK(t, s.Commit())
				continue
			}
			s.Close() // in the middle of its transaction
		}
		all[0].Close()
	}
}

// TestSQLiteTaken: whoever inserts a key that is taken, as a dirty read makes one do, can only give up the transaction.
func TestSQLiteTaken(t *testing.T) {
	d := must.Get(driver.Open(t.Context(), []string{"sqlite:"}, driver.Options{
		SessionSQL: []string{"create temp table x (k primary key)", "insert into x values (1), (1)"}}))(t)
	defer d.Close()
	_, err := d.Connect(t.Context(), 0)
	must.Equal(t, d.Classify(err), driver.Aborted, "%v", err)
}
