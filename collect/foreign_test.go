package collect_test

import (
	"strings"
	"testing"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/level"
)

// refers has a database refuse a child without a parent and the deletion of a parent with a child, as a fault that the
// statement has, and take both in the right order.
func refers(t *testing.T, url string) {
	t.Helper()
	db := database(t, url)
	d := twins()
	d.Tables[1].Foreign = []workload.ForeignKey{{Column: 1, Table: 0}}
	for range 2 { // tables that refer to each other can be dropped
		if err := db.Load(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	s, err := db.Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.(driver.Columnar)
	for what, f := range map[string]func() error{
		"a child without a parent":         func() error { return c.PutRow(1, 50, []int64{2, 0, 50}) },
		"the deletion of a child's parent": func() error { return c.DeleteRow(0, 3) },
		"a child that loses its parent":    func() error { return c.PutRow(1, 3, []int64{2, 0, 50}) },
		"": func() error {
			if err := c.DeleteRow(1, 3); err != nil {
				return err
			}
			return c.DeleteRow(0, 3)
		},
	} {
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := f(); (err != nil) != (what != "") || err != nil && !driver.Broken(err) {
			t.Errorf("%s: %s: error %v", url, what, err)
		}
		if err := s.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForeignKeys: SQLite checks them, and stays serializable.
func TestForeignKeys(t *testing.T) {
	refers(t, "sqlite:")
	load{[]string{"sqlite:"}, "", "references", "", level.Serializable, false}.hunts(t)
	r := run(t, collect.Config{DB: []string{"badger:"}, Workload: "references", Txns: 100, Sessions: 4})
	sound(t, r)
}

// TestForeignKeySteps: a script's foreign keys are read, written and checked.
func TestForeignKeySteps(t *testing.T) {
	const text = `{"format":"isovet-schedule","version":1,"level":"serializable",
 "tables":[{"name":"p","columns":[{"name":"a","index":true}],"rows":[[1,2]]},
  {"name":"c","columns":[{"name":"of","index":true}],"foreign_keys":[[0,0]],"rows":[[1,1]]}],
 "steps":[{"session":1,"do":"begin"},{"session":1,"do":"delete","key":1},{"session":1,"do":"commit"}]}`
	s, x, err := collect.ReadScript(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := collect.ScriptOf(x, "", s.Level).Write(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"foreign_keys":[[0,0]]`) {
		t.Errorf("written again: %s", b.String())
	}
	c := collect.Config{DB: []string{"sqlite:"}}
	p, err := open(t, c).Play(t.Context(), c, x)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Refused[0], "FOREIGN KEY") {
		t.Errorf("refused: %q; expected it, for the foreign key", p.Refused[0])
	}
	for _, bad := range []string{"[[1,0]]", "[[0,1]]", "[[0,-1]]"} {
		_, _, err := collect.ReadScript(strings.NewReader(strings.Replace(text, "[[0,0]]", bad, 1)))
		if err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: error %v; expected one that says what was expected", bad, err)
		}
	}
}

// TestForeignKeysOnServers: what foreign keys check reads what is newest, beside a transaction's snapshot, and takes
// locks; no write skew may come of it at serializable, nor be hidden below it.
func TestForeignKeysOnServers(t *testing.T) {
	needServers(t)
	pg, my := started(t, "postgres:start"), started(t, "mariadb:start")
	for _, db := range [][]string{pg, my} {
		refers(t, db[0])
		for _, variant := range []string{"default", "locking"} {
			load{db, "serializable", "references", variant, level.Serializable, false}.hunts(t)
		}
		load{db, "repeatable-read", "references", "default", level.Serializable, true}.hunts(t)
	}
	load{pg, "repeatable-read", "references", "default", level.SnapshotIsolation, false}.hunts(t)
}
