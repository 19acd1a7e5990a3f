package collect_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/sqlwork"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/must"
	"isovet/level"
)

func transfers(t *testing.T) *sqlwork.Workload {
	t.Helper()
	w := must.Get(sqlwork.Read("../internal/cli/testdata/transfers.yaml"))(t)
	return w
}

// TestOwnWorkload: SQLite runs the page's workload right; the recording in progress says the same as the one in memory.
func TestOwnWorkload(t *testing.T) {
	for _, partial := range []string{"", filepath.Join(t.TempDir(), "h.partial")} {
		r, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Own: transfers(t), Txns: 400,
			Sessions: 8, Seed: 3, Partial: partial})
		must.OK(t, err)
		s := r.Summary
		if s.Committed != 400 || len(s.Templates) != 3 || s.Templates[2].Name != "transfer" ||
			s.Templates[2].Committed < 100 {
			t.Errorf("%+v", s)
		}
		for l, want := range map[level.Level]evidence.Verdict{level.StrictSerializable: evidence.Holds} {
			c, _ := check.Auto(r.History, l)
			res, err := check.Run(t.Context(), c, r.History, check.Options{Level: l})
			if err != nil || res.Verdict != want {
				t.Errorf("%s: %v, %v; expected %v", l, res, err, want)
			}
		}
		absent, deleted := false, false
		h := r.History
		for op := range uint32(h.NumOps()) {
			v := h.Ops.Ver[op]
			null := h.VerKind[v] == history.Null && strings.Contains(h.KeyString(h.OpKey(op)), "account/1")
			absent = absent || null && h.Ops.Kind[op] == history.Read
			deleted = deleted || null && h.Ops.Kind[op] == history.Write
		}
		if !absent || !deleted {
			t.Errorf("reads of absent rows %v, deletes %v; expected both", absent, deleted)
		}
	}
}

// TestOwnWorkloadBrokenConstraints: what the data forbid is aborted and not tried again.
func TestOwnWorkloadBrokenConstraints(t *testing.T) {
	own, err := sqlwork.Parse([]byte(`
name: constraints
setup: ["create table a (id text primary key, x integer check (x < 3), v numeric)",
  "insert into a values ('it''s', 1, 0), ('b:k', 1, null)"]
teardown: [drop table a]
tables: {a: {key: id, version: v}}
parameters: {k: {choice: ["it's", "b:k"]}, u: unique}
transactions:
  - {name: insert, steps: ["insert into a (id, x, v) values (:k, 1, :u)"]}
  - {name: update, steps: ["update a set x = x + 1, v = :u where id = :k", "select v from a where id = :k"]}
  - {name: delete, steps: [delete from a where id = :k]}
`))
	must.OK(t, err)
	r, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Own: own, Txns: 200, Sessions: 4})
	if err != nil || r.Summary.Committed != 200 || r.Summary.Aborted == 0 {
		t.Fatalf("%+v, %v; expected 200 commits, and some refusals", r, err)
	}
	c, _ := check.Auto(r.History, level.StrictSerializable)
	res, err := check.Run(t.Context(), c, r.History, check.Options{Level: level.StrictSerializable})
	if err != nil || res.Verdict != evidence.Holds {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestOwnWorkloadRefused: what cannot be run is reported before or at the first statement.
func TestOwnWorkloadRefused(t *testing.T) {
	own := transfers(t)
	_, err := collect.Run(t.Context(), collect.Config{DB: []string{"badger:"}, Own: own})
	if !errors.Is(err, driver.ErrUnsupported) && (err == nil || !strings.Contains(err.Error(), "takes no SQL")) {
		t.Errorf("badger: %v", err)
	}
	own.Setup = []string{"create nothing"}
	_, err = collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Own: own})
	if err == nil || !strings.Contains(err.Error(), "setup: create nothing") {
		t.Errorf("setup: %v", err)
	}
	_, err = collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, SessionSQL: []string{"pragma nonsense("}})
	if err == nil || !strings.Contains(err.Error(), "statement of a new session") {
		t.Errorf("session: %v", err)
	}
	_, err = collect.Run(t.Context(), collect.Config{DB: []string{"badger:"}, SetupSQL: []string{"select 1"}})
	if !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("setup of badger: %v", err)
	}
}

// TestScheduleOfEnds: who was aborted is rolled back, where he ended; a commit whose time is not known is where the
// transaction ended.
func TestScheduleOfEnds(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"session":1,"start":1,"end":9,"status":"aborted","ops":[["w","x",1,2,3]]}
{"id":2,"session":2,"start":4,"commit":7,"end":8,"ops":[["r","x",1,5,6]]}`: "b1 w1(x) b2 r2(x) c2 a1",
		`{"id":1,"session":1,"start":1,"end":9,"ops":[["w","x",1,2,3]]}
{"id":2,"session":2,"start":4,"ops":[["r","x",1,5,10]]}`: "b1 w1(x) b2 r2(x) c1 c2",
		`{"id":1,"session":1,"start":1,"status":"unknown","ops":[["w","x",1,2,7]]}
{"id":2,"session":2,"start":4,"end":6,"ops":[["r","x",null,5,5]]}`: "b1 w1(x) b2 r2(x) c2 c1",
	} {
		path := filepath.Join(t.TempDir(), "h.jsonl")
		must.OK(t, os.WriteFile(path, []byte(text), 0o644))
		h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
		s := must.Get(collect.ScheduleOf(h))(t)
		var got []string
		for _, st := range s.Steps {
			got = append(got, st.Text)
		}
		if strings.ReplaceAll(strings.Join(got, " "), `"`, "") != want {
			t.Errorf("%s\nis %s; expected %s", text, got, want)
		}
	}
}

// TestReplay: the schedule of a lost update shows it in each run where the database lets it, and in none where not.
func TestReplay(t *testing.T) {
	anomaly := collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts"}
	s := must.Get(collect.ParseSchedule("b1 b2 r1(x) r2(x) w1(x) c1 w2(x) c2"))(t)
	d := must.Get(collect.Open(t.Context(), anomaly))(t)
	p := must.Get(d.Play(t.Context(), anomaly, s))(t)
	must.OK(t, d.Close())
	again := must.Get(collect.ScheduleOf(p.History))(t)
	const runs = 5
	for isolation, want := range map[string]int{"no-conflicts": runs, "serializable": 0} {
		r, err := collect.Replay(context.Background(), collect.Config{DB: []string{"badger:"}, Isolation: isolation,
			Timeout: 5 * time.Second}, again, level.SnapshotIsolation, runs, nil)
		if err != nil || r.Runs != runs || r.Violated != want || r.Undecided != 0 {
			t.Errorf("%s: %+v, %v; expected %d violated", isolation, r, err, want)
		}
	}
}

// TestOwnWorkloadOnServers: lost updates at read committed, none at serializable.
func TestOwnWorkloadOnServers(t *testing.T) {
	needServers(t)
	for _, e := range []struct {
		db, isolation string
		violated      bool
	}{{"postgres:start", "read-committed", true}, {"postgres:start", "serializable", false},
		{"mariadb:start", "repeatable-read", true}, {"mariadb:start", "serializable", false}} {
		t.Run(e.db+" "+e.isolation, func(t *testing.T) {
			c := collect.Config{DB: []string{e.db}, Isolation: e.isolation, Own: transfers(t), Txns: 200, Sessions: 6}
			d := open(t, c)
			found := false
			for seed := range uint64(4) {
				c.Seed = seed
				r := must.Get(d.Collect(t.Context(), c))(t)
				a, _ := check.Auto(r.History, level.Serializable)
				res, err := check.Run(t.Context(), a, r.History, check.Options{Level: level.Serializable})
				if err != nil || res.Verdict == evidence.Unknown {
					t.Fatalf("%+v, %v", res, err)
				}
				found = found || res.Verdict == evidence.Violated
			}
			if found != e.violated {
				t.Errorf("a violation: %v; expected %v", found, e.violated)
			}
		})
	}
}
