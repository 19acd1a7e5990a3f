package sqlite

import (
	"testing"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/internal/test/must"
)

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

// TestTaken: whoever inserts a key that is taken, as a dirty read makes one do, can only give up the transaction.
func TestTaken(t *testing.T) {
	d := must.Get(driver.Open(t.Context(), []string{"sqlite:"}, driver.Options{
		SessionSQL: []string{"create temp table x (k primary key)", "insert into x values (1), (1)"}}))(t)
	defer d.Close()
	_, err := d.Connect(t.Context(), 0)
	must.Equal(t, d.Classify(err), driver.Aborted, "%v", err)
}
