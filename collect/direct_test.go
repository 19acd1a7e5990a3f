package collect_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// twins are two tables of the same rows, the second Direct.
func twins() (d driver.Data) {
	columns := []workload.Column{{Name: "g", Index: true}, {Name: "c"}}
	for i := range 2 {
		d.Tables = append(d.Tables, driver.Table{ID: i, Columns: columns, Direct: i == 1,
			Rows: func(yield func(int64, []int64) bool) {
				for pk := range int64(20) {
					if !yield(pk, []int64{1, pk % 7, pk}) {
						return
					}
				}
			}})
	}
	d.Rows = func(func(int64, driver.Row) bool) {}
	d.Mark = 4711
	return d
}

// database is one that is closed with the test.
func database(t *testing.T, url string) driver.DB {
	t.Helper()
	db := must.Get(driver.Open(t.Context(), []string{url}, driver.Options{}))(t)
	t.Cleanup(func() { must.OK(t, db.Close()) })
	return db
}

// direct runs seeded random changes on both of the twins: a change that finds its rows by itself tells the same rows,
// before and after, as one whose rows are looked for first, and leaves the same tables.
func direct(t *testing.T, url string, n int) {
	t.Helper()
	db := database(t, url)
	must.OK(t, db.Load(t.Context(), twins()))
	s := must.Get(db.Connect(t.Context(), 0))(t)
	defer s.Close()
	c := s.(driver.Columnar)
	rng := rand.New(rand.NewPCG(3, 4))
	fail := func(err error) {
		must.OK(t, err)
	}
	for i := range n {
		where := []workload.Range{{Column: 0, Min: rng.Int64N(7), Max: 2 + rng.Int64N(7)}}
		if rng.IntN(3) == 0 {
			where = append(where, workload.Range{Column: 1, Min: 0, Max: rng.Int64N(30)})
		}
		change := driver.Change{Version: int64(i) + 2}
		switch rng.IntN(6) {
		case 0:
			change = driver.Change{Delete: true}
			where = []workload.Range{workload.Equal(0, rng.Int64N(7))}
		case 1: // the column of the condition itself
			change.Set = []workload.Set{{Column: 0, Keep: true, Add: 1, Mod: 7}}
		case 2:
			change.Set = []workload.Set{{Column: 1, Keep: true, Add: 2, Mul: 3, Mod: 25}, {Column: 0, Add: 3}}
		default:
			change.Set = []workload.Set{{Column: 1, Add: rng.Int64N(30)}}
		}
		pk, row := rng.Int64N(40), []int64{int64(n + i), rng.Int64N(7), rng.Int64N(30)}
		var said [2]string
		for table := range 2 {
			fail(s.Begin())
			found, err := c.Where(table, where, change)
			fail(err)
			fail(c.PutRow(table, pk, row))
			all, err := c.Where(table, []workload.Range{{Column: 0, Min: 0, Max: 9}}, driver.Change{})
			fail(err)
			said[table] = fmt.Sprint(found, all)
			fail(s.Commit())
		}
		must.Same(t, said[0], said[1], "%d: %v, %+v beside one statement", i, where, change)
	}
}

// TestDirect: on SQLite; and a run of the workload is serializable.
func TestDirect(t *testing.T) {
	direct(t, "sqlite:", 100)
	r := run(t, collect.Config{DB: []string{"sqlite:"}, Workload: "rows", Variant: "direct", Txns: 300, Sessions: 8})
	sound(t, r)
	verdict(t, r.History, level.Serializable, evidence.Holds)
}

// load is a workload on a database, with what is known of its anomalies there.
type load struct {
	db                           []string
	isolation, workload, variant string
	level                        level.Level
	finds                        bool
}

// hunts looks for an anomaly where one is known, for a minute at most, and checks some thousands of transactions where
// none may be.
func (l load) hunts(t *testing.T) {
	t.Helper()
	if l.finds {
		c := collect.Config{DB: l.db, Isolation: l.isolation, Workload: l.workload, Variant: l.variant}
		h, err := hunt.Run(context.Background(), hunt.Config{Level: l.level, For: time.Minute, Config: c})
		must.OK(t, err)
		if !h.Violated {
			t.Errorf("%+v: nothing found in %d transactions", l, h.Committed)
		}
		return
	}
	txns := histtest.Long(400, 1000)
	for seed := range uint64(histtest.Long(1, 5)) {
		r := run(t, collect.Config{DB: l.db, Isolation: l.isolation, Workload: l.workload, Variant: l.variant,
			Txns: txns, Sessions: 16, Seed: seed})
		sound(t, r)
		if res := verdict(t, r.History, l.level, evidence.Holds); res.Verdict != evidence.Holds {
			t.Fatalf("%+v, seed %d: %v", l, seed, res.Anomalies)
		}
		if r.Summary.Committed < txns {
			t.Errorf("%+v: %d committed", l, r.Summary.Committed)
		}
	}
}

// TestDirectOnServers: PostgreSQL tells by RETURNING, MariaDB by keys that the statement gathers.
func TestDirectOnServers(t *testing.T) {
	needServers(t)
	pg, my := started(t, "postgres:start"), started(t, "mariadb:start")
	for _, db := range [][]string{pg, my} {
		direct(t, db[0], 300)
		load{db, "serializable", "rows", "direct", level.Serializable, false}.hunts(t)
		load{db, "repeatable-read", "rows", "direct", level.Serializable, true}.hunts(t)
		r := run(t, collect.Config{DB: db, Isolation: "serializable", Workload: "rows", Variant: "direct", Txns: 300,
			KeepCalls: true})
		direct, looked := 0, 0
		for _, e := range r.Events(nil) {
			first := ""
			for _, q := range e.Statements {
				verb, _, _ := strings.Cut(q, " ")
				if verb == "update" && first == "select" {
					looked++
				} else if verb == "update" {
					direct++
				}
				first = cmp.Or(first, verb)
			}
		}
		if direct == 0 || looked > 0 {
			t.Errorf("%s: %d updates find their rows by themselves, %d do not; expected all", db[0], direct, looked)
		}
	}
	load{pg, "repeatable-read", "rows", "direct", level.SnapshotIsolation, false}.hunts(t)
}
