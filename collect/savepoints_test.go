package collect_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/internal/test/must"
	"isovet/level"
)

// keeping is SQLite with sessions that do not go back to a savepoint: what was undone stays.
type keeping struct{ driver.DB }

type keepingSession struct {
	driver.Session
	driver.Columnar
	driver.Inserter
}

func (keepingSession) Savepoint() error  { return nil }
func (keepingSession) RollbackTo() error { return nil }

func (k keeping) Connect(ctx context.Context, node int) (driver.Session, error) {
	s, err := k.DB.Connect(ctx, node)
	if err != nil {
		return nil, err
	}
	return keepingSession{s, s.(driver.Columnar), s.(driver.Inserter)}, nil
}

var registerKeeping = sync.OnceFunc(func() {
	driver.Register(driver.Scheme{Name: "keeping", URLs: []string{"keeping"}, About: "a test's", Embedded: true,
		SQL: true, Isolations: []string{"default"}},
		func(ctx context.Context, _ []string, _ string, o driver.Options) (driver.DB, error) {
			o.Isolation = ""
			db, err := driver.Open(ctx, []string{"sqlite:"}, o)
			return keeping{db}, err
		})
})

// TestSavepoints: what is undone is no part of the history, and a database that keeps it shows versions that nobody
// wrote. A database without savepoints says so.
func TestSavepoints(t *testing.T) {
	c := collect.Config{DB: []string{"sqlite:"}, Workload: "rows", Variant: "savepoints",
		Txns: 150, Sessions: 6, KeepCalls: true}
	r := run(t, c)
	sound(t, r)
	verdict(t, r.History, level.Serializable, evidence.Holds)
	said := map[string]int{}
	for _, e := range r.Events(nil) {
		verb := e.Statements[len(e.Statements)-1]
		if strings.Contains(verb, "savepoint") {
			said[verb]++
		}
	}
	if n := said["rollback to savepoint isovet"]; n < c.Txns*2/5 || said["savepoint isovet"] < n {
		t.Errorf("the statements have %v; expected more of each", said)
	}
	registerKeeping()
	c.DB = []string{"keeping:"}
	res := verdict(t, run(t, c).History, level.ReadCommitted, evidence.Violated)
	if !named(res, []string{string(level.ThinAirRead)}) {
		t.Errorf("anomalies %v; expected %s", res.Anomalies, level.ThinAirRead)
	}
	c.DB = []string{"badger:"}
	if _, err := collect.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "no savepoints") {
		t.Errorf("Badger: error %v; expected that it has no savepoints", err)
	}
}

// TestSavepointSteps: a script's savepoints are read, written and played.
func TestSavepointSteps(t *testing.T) {
	const text = `{"format":"isovet-schedule","version":1,"level":"serializable",
 "tables":[{"name":"t","columns":[{"name":"a","index":true}],"rows":[[1,2]]}],
 "steps":[{"session":1,"do":"begin"},{"session":1,"do":"savepoint"},{"session":1,"do":"write","key":1,"row":[5]},
  {"session":1,"do":"rollback-to"},{"session":1,"do":"read","key":1},{"session":1,"do":"commit"}]}`
	s, x, err := collect.ReadScript(strings.NewReader(text))
	must.OK(t, err)
	var b strings.Builder
	must.OK(t, collect.ScriptOf(x, "", s.Level).Write(&b))
	if !strings.Contains(b.String(), `"do":"savepoint"`) || !strings.Contains(b.String(), `"do":"rollback-to"`) {
		t.Errorf("written again: %s", b.String())
	}
	c := collect.Config{DB: []string{"sqlite:"}}
	p := must.Get(open(t, c).Play(t.Context(), c, x))(t)
	if n := p.History.NumOps(); n != 2 { // the load and the read
		t.Errorf("%d operations; expected 2", n)
	}
	verdict(t, p.History, level.Serializable, evidence.Holds)
}

// TestSavepointsOnServers: PostgreSQL's subtransactions and InnoDB's undo.
func TestSavepointsOnServers(t *testing.T) {
	needServers(t)
	pg, my := started(t, "postgres:start"), started(t, "mariadb:start")
	for _, db := range [][]string{pg, my} {
		load{db, "serializable", "rows", "savepoints", level.Serializable, false}.hunts(t)
		load{db, "repeatable-read", "rows", "savepoints", level.Serializable, true}.hunts(t)
	}
	load{pg, "repeatable-read", "rows", "savepoints", level.SnapshotIsolation, false}.hunts(t)
}
