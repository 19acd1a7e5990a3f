package collect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/sqlwork"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// beside runs workloads on a database whose schema changes, and expects every history to be serializable.
func beside(t *testing.T, db string, txns int, every time.Duration) {
	t.Helper()
	c := collect.Config{DB: []string{db}, Isolation: "serializable", Sessions: 8, Txns: txns,
		Fault: collect.Fault{Kind: collect.Schema, Every: every}}
	d := open(t, c)
	loads := [][2]string{{"rmw", ""}, {"rows", ""}, {"list-append", ""}, {"claim", "unique"},
		{"rows", "direct"}, {"claim", "insert"}, {"references", ""}}
	made := 0
	for i := 0; i < len(loads) || made == 0 && i < 100; i++ { // a machine may be too busy for a change
		w := loads[i%len(loads)]
		c.Workload, c.Variant, c.Seed = w[0], w[1], uint64(i)
		r, err := d.Collect(t.Context(), c)
		must.OK(t, err, "%s", w[0])
		sound(t, r)
		verdict(t, r.History, level.Serializable, evidence.Holds)
		s := &r.Summary
		made += s.SchemaChanges
		t.Logf("%s: %d committed, %d aborted, %d changes, %d refused; %v", s.Workload, s.Committed, s.Aborted,
			s.SchemaChanges, s.SchemaRefused, s.Aborts)
	}
	if made == 0 {
		t.Error("the schema was never changed")
	}
}

// TestSchemaChanges: SQLite's indexes and columns come and go while sessions use the tables.
func TestSchemaChanges(t *testing.T) { beside(t, "sqlite:", 150, 2*time.Millisecond) }

// TestSchemaChangesOnServers is the same with servers.
func TestSchemaChangesOnServers(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "mariadb:start"} {
		t.Run(db, func(t *testing.T) { beside(t, db, 1500, 20*time.Millisecond) })
	}
}

// TestSchemaChangesNeedTables: stores of keys have no schema, and tables of the user's own are not touched.
func TestSchemaChangesNeedTables(t *testing.T) {
	f := collect.Fault{Kind: collect.Schema, Every: time.Second}
	_, err := collect.Run(t.Context(), collect.Config{DB: []string{"badger:"}, Fault: f})
	if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "isovet knows no schema changes for") {
		t.Errorf("Badger: %v", err)
	}
	_, err = collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Fault: f, Own: &sqlwork.Workload{}})
	if err == nil || !strings.Contains(err.Error(), "isovet's own tables") {
		t.Errorf("own statements: %v", err)
	}
}

// inserted runs inserts that leave a row in their way alone, and says how many inserted, and how many did not.
func inserted(t *testing.T, c collect.Config) (some, none int) {
	t.Helper()
	c.Workload, c.Variant, c.KeepCalls = "claim", "insert", true
	r := run(t, c)
	sound(t, r)
	verdict(t, r.History, level.Serializable, evidence.Holds)
	for _, e := range r.Events(nil) {
		if len(e.Statements) == 0 || !strings.HasPrefix(e.Statements[0], "insert") || e.Refused {
			continue
		}
		if strings.HasPrefix(e.Got, "not inserted") {
			none++
		} else {
			some++
		}
		if strings.Contains(e.Statements[0], "(0,0,") {
			t.Errorf("%s: %v has no version", c.DB[0], e.Statements)
		}
	}
	writes := 0
	for x := range uint32(r.History.NumTxns()) {
		for lo, hi := r.History.TxnOps(x); lo < hi && x != r.History.Init; lo++ {
			if r.History.Ops.Kind[lo] == history.Write {
				writes++
			}
		}
	}
	must.Equal(t, writes, some, "%s: writes in the history", c.DB[0])
	return some, none
}

// TestInserts: on SQLite; and where a database has no unique indexes, nothing is in the way.
func TestInserts(t *testing.T) {
	some, none := inserted(t, collect.Config{DB: []string{"sqlite:"}, Txns: 300, Sessions: 6})
	if some == 0 || none == 0 {
		t.Errorf("%d inserted, %d not; expected both", some, none)
	}
	load{[]string{"sqlite:"}, "", "rows", "insert", level.Serializable, false}.hunts(t)
	r := run(t, collect.Config{DB: []string{"badger:"}, Workload: "rows", Variant: "insert", Txns: 100, Sessions: 4})
	sound(t, r)
}

// TestInsertsOnServers: PostgreSQL's ON CONFLICT DO NOTHING and MariaDB's INSERT IGNORE.
func TestInsertsOnServers(t *testing.T) {
	needServers(t)
	pg, my := started(t, "postgres:start"), started(t, "mariadb:start")
	for _, db := range [][]string{pg, my} {
		for _, iso := range []string{"serializable", "repeatable-read"} { // the unique index holds at both
			if some, none := inserted(t, collect.Config{DB: db, Isolation: iso, Txns: 1000, Sessions: 16}); some == 0 ||
				none == 0 {
				t.Errorf("%s, %s: %d inserted, %d not; expected both", db[0], iso, some, none)
			}
		}
		load{db, "serializable", "rows", "insert", level.Serializable, false}.hunts(t)
		load{db, "repeatable-read", "rows", "insert", level.Serializable, true}.hunts(t)
	}
	load{pg, "repeatable-read", "rows", "insert", level.SnapshotIsolation, false}.hunts(t)
}

// refers has a database refuse a child without a parent and the deletion of a parent with a child, as a fault that the
// statement has, and take both in the right order.
func refers(t *testing.T, url string) {
	t.Helper()
	db := database(t, url)
	d := twins()
	d.Tables[1].Foreign = []workload.ForeignKey{{Column: 1, Table: 0}}
	for range 2 { // tables that refer to each other can be dropped
		must.OK(t, db.Load(t.Context(), d))
	}
	s := must.Get(db.Connect(t.Context(), 0))(t)
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
		must.OK(t, s.Begin())
		if err := f(); (err != nil) != (what != "") || err != nil && !driver.Broken(err) {
			t.Errorf("%s: %s: error %v", url, what, err)
		}
		must.OK(t, s.Rollback())
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
	must.OK(t, err)
	var b strings.Builder
	must.OK(t, collect.ScriptOf(x, "", s.Level).Write(&b))
	if !strings.Contains(b.String(), `"foreign_keys":[[0,0]]`) {
		t.Errorf("written again: %s", b.String())
	}
	c := collect.Config{DB: []string{"sqlite:"}}
	p := must.Get(open(t, c).Play(t.Context(), c, x))(t)
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
