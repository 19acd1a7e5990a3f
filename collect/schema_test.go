package collect_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/sqlwork"
	"isovet/evidence"
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
		if err != nil {
			t.Fatalf("%s: %v", w[0], err)
		}
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
