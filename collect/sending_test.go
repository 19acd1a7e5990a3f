package collect_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestStatementsSent: however statements are sent, what PostgreSQL and MariaDB promise holds, and the history says how
// they were.
func TestStatementsSent(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "mariadb:start"} {
		t.Run(db, func(t *testing.T) {
			d := open(t, collect.Config{DB: []string{db}}) // skipped if it is not there
			modes := []string{"interpolateParams=false"}
			if s, ok := d.DB.(driver.Sender); ok {
				modes = s.Ways()
			}
			for _, mode := range modes {
				s := must.Get(server.Start(context.Background(), db+"?"+mode))(t)
				for i, w := range [][2]string{{"rmw", ""}, {"rows", "locking"}, {"rows", "direct"}, {"claim", "insert"},
					{"rows", "savepoints"}, {"references", ""}, {"list-append", ""}, {"rubis", ""}, {"booking", ""}} {
					r := run(t, collect.Config{DB: s.URLs, Isolation: "serializable", Workload: w[0], Variant: w[1],
						Txns: 600, Sessions: 8, Seed: uint64(i)})
					sound(t, r)
					verdict(t, r.History, level.Serializable, evidence.Holds)
					t.Logf("%s %s: %d committed, %d aborted in %v; %v", mode, r.Summary.Workload, r.Summary.Committed,
						r.Summary.Aborted, r.Summary.Elapsed, r.Summary.Aborts)
					if !strings.Contains(r.History.Meta.Note, mode) {
						t.Errorf("note %q; expected %q in it", r.History.Meta.Note, mode)
					}
				}
				prepared(t, s.URLs, mode)
				must.OK(t, s.Close())
			}
		})
	}
}

// prepared asks a server what a session has had it prepare.
func prepared(t *testing.T, urls []string, mode string) {
	d := must.Get(driver.Open(t.Context(), urls, driver.Options{Timeout: time.Minute}))(t)
	defer d.Close()
	must.OK(t, d.Load(t.Context(), driver.Data{Rows: func(func(int64, driver.Row) bool) {}, Tables: []driver.Table{
		{Columns: []workload.Column{{Name: "a"}}, Rows: func(func(int64, []int64) bool) {}}}}))
	s := must.Get(d.Connect(t.Context(), 0))(t)
	defer s.Close()
	q, want := "select count(*) from pg_prepared_statements where statement like '%isovet_t0%'", int64(0)
	switch mode {
	case "interpolateParams=false":
		q, want = "select cast(variable_value as integer) from information_schema.session_status "+
			"where variable_name = 'Com_stmt_prepare'", 1
	case "default_query_exec_mode=cache_statement":
		want = 1
	}
	count := func() int64 {
		a := must.Get(s.(driver.Speaker).Say(q))(t)
		return a.Rows[0][0].(int64)
	}
	before := count()
	for i := range int64(3) {
		must.Get(s.(driver.Columnar).GetRow(0, i, false))(t)
	}
	must.Equal(t, count()-before, want, "%s: statements prepared", mode)
}

// TestLockingReads: a history tells reads that take locks from plain ones, keeps that when it is written, read and cut
// down, and the text of a violation names them.
func TestLockingReads(t *testing.T) {
	const text = `{"id":1,"session":0,"name":"pay","locking":"1","ops":[["r","x",null],["r","y",null],["w","x",1]]}
{"id":2,"session":1,"locking":"0 1","ops":[["r","x",null],["r","y",null],["w","y",2]]}
{"id":3,"session":1,"ops":[["r","x",1],["r","y",2]]}
`
	h := must.Get(jsonl.Read([]byte(text), "h.jsonl"))(t)
	locking := func(h *history.History) (s string) {
		for op := range uint32(h.NumOps()) {
			s += map[bool]string{true: "l", false: "."}[h.Locking(op)]
		}
		return s
	}
	must.Equal(t, locking(h), ".l.ll...", "locking reads")
	var b strings.Builder
	must.OK(t, jsonl.Write(&b, h))
	again, err := jsonl.Read([]byte(b.String()), "h.jsonl")
	if err != nil || locking(again) != locking(h) {
		t.Errorf("written and read again: %v, %q:\n%s", err, locking(again), b.String())
	}
	c, _ := check.Auto(h, level.Serializable)
	r, err := check.Run(t.Context(), c, h, check.Options{Level: level.Serializable})
	if err != nil || r.Verdict != evidence.Violated {
		t.Fatalf("%v, %v; expected a violation", r, err)
	}
	s := evidence.Describe(&r.Anomalies[0], h)
	if !strings.Contains(s, "FOR UPDATE), not plain ones: T1 of y, T2 of x") {
		t.Errorf("the text does not name the locking reads:\n%s", s)
	}
	r.H = h
	small := must.Get(shrink.History(t.Context(), h, level.Serializable, shrink.Options{First: r}))(t)
	b.Reset()
	must.OK(t, jsonl.Write(&b, small.H))
	if !strings.Contains(b.String(), `"locking":"0"`) {
		t.Errorf("cut down, the locking reads are gone:\n%s", b.String())
	}
}

// TestLockingCollected: SQLite has no locking reads, so none is recorded, though the workload asks for them.
func TestLockingCollected(t *testing.T) {
	r, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Workload: "rmw", Variant: "locking",
		Txns: 20, Sessions: 2})
	must.OK(t, err)
	if r.History.Txns.Locking != nil {
		t.Error("SQLite has no locking reads, and the history has some")
	}
}

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
