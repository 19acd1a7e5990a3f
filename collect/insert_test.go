package collect_test

import (
	"strings"
	"testing"

	"isovet/collect"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

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
	if writes != some {
		t.Errorf("%s: %d writes in the history, %d rows were inserted", c.DB[0], writes, some)
	}
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
