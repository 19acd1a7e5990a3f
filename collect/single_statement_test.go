package collect_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/must"
	"isovet/level"
)

// ones runs a workload some of whose transactions are statements outside of BEGIN and COMMIT: for those nothing else is
// sent, but the setting.
func ones(t *testing.T, c collect.Config, setting string) (r *collect.Result) {
	t.Helper()
	c.KeepCalls, c.Isolation = true, "serializable"
	r, err := open(t, c).Collect(t.Context(), c)
	must.OK(t, err)
	sound(t, r)
	verdict(t, r.History, level.Serializable, evidence.Holds)
	names := map[int64]string{}
	for x := range uint32(r.History.NumTxns()) {
		if r.History.Txns.Name[x] != history.None {
			names[r.History.Txns.ID[x]] = string(r.History.Texts.Text(r.History.Txns.Name[x]))
		}
	}
	sent := 0
	for _, e := range r.Events(nil) {
		one := strings.Contains(" read write select ", " "+names[e.Txn]+" ")
		if !one {
			continue
		}
		switch q := e.Statements[0]; {
		case q == "commit", q == "rollback", strings.HasPrefix(q, "begin"),
			strings.HasPrefix(q, "set ") && q != setting:
			t.Fatalf("transaction %d: %q is sent for a statement by itself", e.Txn, q)
		case !strings.HasPrefix(q, "set "):
			sent++
		}
	}
	if sent < c.Txns/4 {
		t.Errorf("%d statements by themselves in %d transactions", sent, c.Txns)
	}
	s := &r.Summary
	t.Logf("%s: %d committed, %d aborted, %d unknown; %v", s.Workload, s.Committed, s.Aborted, s.Unknown, s.Aborts)
	return r
}

// TestAlone: on SQLite a statement by itself takes its place in real time as any transaction does, and the recording in
// progress has each.
func TestAlone(t *testing.T) {
	for _, w := range []string{"rmw", "rows"} {
		file := filepath.Join(t.TempDir(), "partial.jsonl")
		r := ones(t, collect.Config{DB: []string{"sqlite:"}, Workload: w, Variant: "autocommit", Keys: 20, Txns: 300,
			Sessions: 8, Partial: file}, "")
		verdict(t, r.History, level.StrictSerializable, evidence.Holds)
		h := must.Get(format.Read(t.Context(), file, format.Options{}))(t)
		got, want := map[history.Status]int{}, map[history.Status]int{}
		for i, s := range h.Txns.Status {
			if uint32(i) != h.Init {
				got[s]++
			}
		}
		for i, s := range r.History.Txns.Status {
			if uint32(i) != r.History.Init {
				want[s]++
			}
		}
		if len(got) != len(want) || got[history.Committed] != want[history.Committed] ||
			got[history.Aborted] != want[history.Aborted] {
			t.Errorf("the recording has %v, the history %v", got, want)
		}
		verdict(t, h, level.StrictSerializable, evidence.Holds)
	}
}

// TestAloneOnServers: PostgreSQL is told the level once a session, MariaDB has one for the session.
func TestAloneOnServers(t *testing.T) {
	needServers(t)
	const set = "set default_transaction_isolation = 'serializable'"
	for _, x := range []struct{ db, setting string }{
		{"postgres:start", set}, {"postgres:start?default_query_exec_mode=cache_statement", set}, {"mariadb:start", ""},
	} {
		for _, w := range []string{"rmw", "rows"} {
			ones(t, collect.Config{DB: []string{x.db}, Workload: w, Variant: "autocommit", Txns: 1500, Sessions: 16},
				x.setting)
		}
	}
}

// TestAloneKilled: a write by itself whose answer is lost is of unknown outcome, and not an aborted one.
func TestAloneKilled(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "mariadb:start"} {
		c := collect.Config{DB: []string{db}, Isolation: "serializable", Workload: "rmw", Variant: "autocommit",
			Keys: 20, Sessions: 16, Duration: 2500 * time.Millisecond,
			Fault: collect.Fault{Kind: collect.Kill, Every: 500 * time.Millisecond}}
		d, unknown := open(t, c), 0
		for seed := uint64(0); seed < 3 || unknown == 0 && seed < 20; seed++ {
			c.Seed = seed
			r := must.Get(d.Collect(t.Context(), c))(t)
			sound(t, r)
			verdict(t, r.History, level.Serializable, evidence.Holds)
			for _, x := range r.Summary.Templates {
				if x.Name == "write" {
					unknown += x.Unknown
				}
			}
			t.Logf("%s: %d committed, %d aborted, %d unknown; %v", db, r.Summary.Committed, r.Summary.Aborted,
				r.Summary.Unknown, r.Summary.Aborts)
		}
		if unknown == 0 {
			t.Errorf("%s: no write by itself is of unknown outcome", db)
		}
	}
}
