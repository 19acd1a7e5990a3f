package collect_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/level"
)

// TestStatementsSent: however statements are sent, what PostgreSQL and MariaDB promise holds, and the history says how
// they were.
func TestStatementsSent(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start?default_query_exec_mode=", "mariadb:start?interpolateParams="} {
		name, parameter, _ := strings.Cut(db, "?")
		t.Run(name, func(t *testing.T) {
			c := collect.Config{DB: []string{name}}
			open(t, c) // skipped if it is not there
			modes := []string{"simple_protocol", "exec", "cache_statement"}
			if name == "mariadb:start" {
				modes = []string{"false"}
			}
			for _, mode := range modes {
				s, err := server.Start(context.Background(), db+mode)
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range [][2]string{{"rmw", ""}, {"rows", "locking"}, {"rows", "direct"}, {"claim", "insert"},
					{"rows", "savepoints"}, {"references", ""}, {"list-append", ""}, {"rubis", ""},
					{"booking", ""}} {
					r := run(t, collect.Config{DB: s.URLs, Isolation: "serializable", Workload: w[0], Variant: w[1],
						Txns: 600, Sessions: 8, Seed: uint64(i)})
					sound(t, r)
					verdict(t, r.History, level.Serializable, evidence.Holds)
					t.Logf("%s %s: %d committed, %d aborted in %v; %v", mode, r.Summary.Workload, r.Summary.Committed,
						r.Summary.Aborted, r.Summary.Elapsed, r.Summary.Aborts)
					if want := parameter + mode; !strings.Contains(r.History.Meta.Note, want) {
						t.Errorf("note %q; expected %q in it", r.History.Meta.Note, want)
					}
				}
				prepared(t, s.URLs, mode)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// prepared asks a server what a session has had it prepare.
func prepared(t *testing.T, urls []string, mode string) {
	d, err := driver.Open(t.Context(), urls, driver.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Load(t.Context(), driver.Data{Rows: func(func(int64, driver.Row) bool) {}, Tables: []driver.Table{
		{Columns: []workload.Column{{Name: "a"}}, Rows: func(func(int64, []int64) bool) {}}}}); err != nil {
		t.Fatal(err)
	}
	s, err := d.Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q, want := "select count(*) from pg_prepared_statements where statement like '%isovet_t0%'", int64(0)
	switch mode {
	case "false":
		q, want = "select cast(variable_value as integer) from information_schema.session_status "+
			"where variable_name = 'Com_stmt_prepare'", 1
	case "cache_statement":
		want = 1
	}
	count := func() int64 {
		a, err := s.(driver.Speaker).Say(q)
		if err != nil {
			t.Fatal(err)
		}
		return a.Rows[0][0].(int64)
	}
	before := count()
	for i := range int64(3) {
		if _, err := s.(driver.Columnar).GetRow(0, i, false); err != nil {
			t.Fatal(err)
		}
	}
	if got := count() - before; got != want {
		t.Errorf("%s: %d statements prepared; expected %d", mode, got, want)
	}
}
