package collect_test

import (
	"testing"

	"isovet/collect"
	"isovet/evidence"
	"isovet/level"
)

// TestAccess: SQLite, which has no such thing, begins transactions that only read as any others.
func TestAccess(t *testing.T) {
	for _, v := range []string{"read-only", "deferrable"} {
		r := run(t, collect.Config{DB: []string{"sqlite:"}, Workload: "smallbank", Variant: v, Keys: 20, Txns: 400,
			Sessions: 8})
		sound(t, r)
		verdict(t, r.History, level.Serializable, evidence.Holds)
	}
}

// TestAccessOnServers: PostgreSQL and MariaDB are told, and isovet says what they were told.
func TestAccessOnServers(t *testing.T) {
	needServers(t)
	for _, c := range []struct{ db, variant, begin string }{
		{"postgres:start", "read-only", "begin isolation level serializable; set transaction read only"},
		{"postgres:start", "deferrable", "begin isolation level serializable; set transaction read only, deferrable"},
		{"mariadb:start", "read-only", "start transaction read only"},
		{"mariadb:start", "deferrable", "begin"},
	} {
		r := run(t, collect.Config{DB: []string{c.db}, Isolation: "serializable", Workload: "smallbank",
			Variant: c.variant, Keys: 20, Txns: 600, KeepCalls: true})
		verdict(t, r.History, level.Serializable, evidence.Holds)
		begun := map[string]int{}
		for _, e := range r.Events(nil) {
			if len(e.Statements) == 1 && (e.Statements[0] == c.begin) {
				begun[e.Statements[0]]++
			}
		}
		if begun[c.begin] < 50 {
			t.Errorf("%s, %s: %d transactions are begun by %q; expected a sixth of 600", c.db, c.variant,
				begun[c.begin], c.begin)
		}
	}
}
