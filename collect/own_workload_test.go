package collect_test

import (
	"context"
	"errors"
	"fmt"
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
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/level"
)

func transfers(t *testing.T) *sqlwork.Workload {
	t.Helper()
	return must.Get(sqlwork.Read("../internal/cli/testdata/transfers.yaml", false))(t)
}

// TestOwnWorkload: SQLite runs the page's workload right, with a recording in progress.
func TestOwnWorkload(t *testing.T) {
	r, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Own: transfers(t), Txns: 400,
		Sessions: 8, Seed: 3, Partial: filepath.Join(t.TempDir(), "h.partial")})
	must.OK(t, err)
	s := r.Summary
	if s.Committed != 400 || len(s.Templates) != 3 || s.Templates[2].Name != "transfer" ||
		s.Templates[2].Committed < 100 {
		t.Errorf("%+v", s)
	}
	verdict(t, r.History, level.StrictSerializable, evidence.Holds)
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
`), false)
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

// shop has the kinds of statements that a workload may have; UPSERT and KEYS are the database's own words.
const shop = `
name: shop
setup:
  - create table account (id integer primary key, owner varchar(20), balance numeric(10,2) not null, ver bigint)
  - create table item (sku varchar(20) primary key, account integer, qty integer not null, ver numeric(20,0))
  - insert into account values (1, 'ann', 10, 0), (2, 'bob', 10.50, 0), (3, 'eve', 7, null)
  - insert into item values ('a-1', 1, 5, 0), ('b''2', 2, 5, null)
teardown: [drop table account, drop table item]
tables: {account: {key: id, version: ver}, item: {key: sku, version: ver}}
parameters:
  k: {int: [1, 6]}
  j: {int: [1, 6], differs: k}
  sku: {choice: [a-1, "b'2", c-3, "7"]}
  u: unique
  w: unique
transactions:
  - name: reads
    steps:
      - {sql: select ver from account where id = :k, keep: {was: ver}}
      - select id, ver from account where id in (:k, :j, 9) order by id
      - select distinct id, ver, balance * 2 as twice from account where id between :k and :j or owner like 'a%'
      - select * from account where id = :k LOCK
      - select item.sku, item.ver, a.owner from account a join item on item.account = a.id where a.balance > 1
      - select a.id, a.ver, i.qty from account a left join item i on i.account = a.id
      - select a.id, a.ver, count(*) as n from account a join item i on i.account = a.id group by a.id, a.ver
      - with rich as (select id, ver, balance from account where balance > 5) select * from rich where balance < 100
      - select s.id, s.ver as version from (select * from account) s where s.id = :k
      - {sql: "select account.id, account.ver from account union select 9, 9 where 1 = 0", table: account}
  - name: changes
    weight: 2
    steps:
      - update account set balance = balance + 0.25, ver = :u where id = :k and balance < 1000 -- :nobody
      - update account set ver = :w, owner = 'it''s :k' where account.id = :j
      - select id, ver from account where id >= :j
      - update item set qty = qty - 1, ver = :u where sku = :sku
      - {sql: "update account set owner = 'x', ver = :u where id = 2 or id = 2", key: two, version: u}
  - name: rows
    rollback: 0.2
    steps:
      - delete from account where id = :k
      - select ver from account where id = :k
      - insert into account (id, owner, balance, ver) values (:k, null, 1, :u)
      - insert into account (id, balance, ver) values (:j, 1, :u) UPSERT ver = VALUES, balance = account.balance + 1
      - delete from item where sku = :sku
      - insert into item (qty, sku, ver) values (3, :sku, :w)
      - select sku, ver from item
`

// TestOwnWorkloadStatements: what one client does, one after the other, violates nothing, and all of it is recorded.
func TestOwnWorkloadStatements(t *testing.T) {
	const returning = `
      - insert into account (balance, id, ver) values (1, 11, :u), (1, 12, :w) returning id, ver
      - delete from account where id > 10 returning id
`
	conflict := strings.NewReplacer("UPSERT", "on conflict (id) do update set", "VALUES", "excluded.ver")
	for db, words := range map[string]*strings.Replacer{"sqlite:": conflict, "postgres:start": conflict,
		"mariadb:start": strings.NewReplacer("UPSERT", "on duplicate key update", "VALUES", "values(ver)")} {
		t.Run(db, func(t *testing.T) {
			lock, more := " for update", returning
			switch db {
			case "sqlite:":
				lock, more = "", returning+"      - update account set ver = :u where id > :k returning id\n"
			case "postgres:start":
				more = returning + "      - update account a set ver = :u from item i where i.account = a.id and " +
					"id > :k returning a.*\n"
				fallthrough
			default:
				needServers(t)
			}
			text := strings.ReplaceAll(words.Replace(shop), " LOCK", lock) + more[1:]
			text = strings.Replace(text, "  u: unique", "  u: unique\n  two: {int: [2, 2]}", 1)
			own := must.Get(sqlwork.Parse([]byte(text), db == "postgres:start"))(t)
			if db == "postgres:start" { // it would take seconds to compile joins of tables that it knows nothing of
				own.Session = []string{"set jit = off"}
			}
			c := collect.Config{DB: []string{db}, Own: own, Txns: 300, Sessions: 1, Seed: 5}
			d := open(t, c)
			for _, c.Isolation = range []string{"serializable", "default"} {
				r := must.Get(d.Collect(t.Context(), c))(t)
				if len(r.Summary.Missed) > 0 || r.Summary.Committed != 300 {
					t.Errorf("%+v", r.Summary)
				}
				verdict(t, r.History, level.StrictSerializable, evidence.Holds)
			}
		})
	}
}

// TestOwnWorkloadForeign: what no recorded transaction wrote is left out and told, once a statement.
func TestOwnWorkloadForeign(t *testing.T) {
	own := must.Get(sqlwork.Parse([]byte(`
setup: ["create table a (id integer primary key, v integer)", "insert into a values (1, 0), (2, 0)"]
teardown: [drop table a]
tables: {a: {key: id, version: v}}
parameters: {k: {int: [1, 2]}, u: unique}
transactions:
  - steps:
      - select id, v from a
      - {sql: update a set v = -1 where id = 1, unrecorded: true}
      - update a set v = :u where id = :k
`), false))(t)
	c := collect.Config{DB: []string{"sqlite:"}, Own: own, Txns: 100, Sessions: 2}
	r := must.Get(collect.Run(t.Context(), c))(t)
	if m := r.Summary.Missed; len(m) != 1 || !strings.Contains(m[0], "nobody wrote") ||
		!strings.Contains(m[0], "select id, v") {
		t.Errorf("%q; expected the read of a version that nobody wrote", m)
	}
	verdict(t, r.History, level.StrictSerializable, evidence.Holds)
}

// family has a table whose rows another table's deletes delete.
const family = `
setup:
  - create table p (id integer primary key, v bigint)
  - create table c (id integer primary key, v bigint, foreign key (id) references p (id) on delete cascade)
teardown: [drop table c, drop table p]
tables: {p: {key: id, version: v}, c: {key: id, version: v}}
parameters: {k: {int: [1, 3]}, u: unique, w: unique}
transactions:
  - steps:
      - delete from p where id = :k
      - select v from c where id = :k
      - insert into p (id, v) values (:k, :u)
      - insert into c (id, v) values (:k, :w)
      - select v from c where id = :k
`

// TestOwnWorkloadSideEffects: a row that the database deletes by itself is not recorded as absent, and an upsert that
// may replace rows of other keys is refused.
func TestOwnWorkloadSideEffects(t *testing.T) {
	for _, db := range []string{"sqlite:", "postgres:start", "mariadb:start"} {
		t.Run(db, func(t *testing.T) {
			own := must.Get(sqlwork.Parse([]byte(family), db == "postgres:start"))(t)
			if db == "sqlite:" {
				own.Session = []string{"pragma foreign_keys = on"}
			} else {
				needServers(t)
			}
			c := collect.Config{DB: []string{db}, Own: own, Txns: 50, Sessions: 1}
			r := must.Get(collect.Run(t.Context(), c))(t)
			verdict(t, r.History, level.StrictSerializable, evidence.Holds)
		})
	}
	for _, c := range []struct{ setup, steps, refused string }{
		{"create table a (id integer primary key, x integer unique, v integer)",
			`"replace into a (id, x, v) values (:k, 1, :u)"`, "several unique columns"},
		{"create table a (id integer primary key, x integer unique, v integer)",
			`{sql: "update or replace a set x = 1, v = :u where id = :k", table: a, key: k, version: u}`,
			"several unique columns"},
		{"create table a (id integer, x integer primary key, v integer)", `"select id, v from a"`, "not unique"},
		{"create table a (id integer, x integer, v integer, primary key (x, id))", `"select id, v from a"`, "not unique"},
		{"create table a (id integer primary key, v integer, unique (id))",
			`"replace into a (id, v) values (:k, :u)", "select v from a where id = :k"`, ""},
		{"create table a (v integer)", `"insert into a (rowid, v) values (:u, :w)", "select rowid, v from a"`, ""},
		{"create table a (id integer primary key, v integer)", `"insert or ignore into a (id, v) values (:k, :u)", ` +
			`{sql: "update a set id = id + 10 where id = :k", unrecorded: true}, "select v from a where id = :k", ` +
			`{sql: delete from a where id > 10, unrecorded: true}`, ""},
		{"create table a (id integer primary key, v integer); create trigger t after update on a begin " +
			"update a set v = null where id = new.id;end", `"insert or ignore into a (id, v) values (:k, :u)", ` +
			`"update a set v = :w where id = :k", "select v from a where id = :k"`, ""},
		{"create table b (id integer primary key, x integer default 0, v integer); create view a as select id, v " +
			"from b where x < 2", `"select v from a where id = :k", {sql: "update b set x = 2 - x", unrecorded: true}`, ""},
	} {
		key := "id"
		if strings.Contains(c.steps, "rowid") {
			key = "rowid"
		}
		own := must.Get(sqlwork.Parse(fmt.Appendf(nil, "tables: {a: {key: %s, version: v}}\n"+
			"parameters: {k: {int: [1, 2]}, u: unique, w: unique}\ntransactions: [{steps: [%s]}]\n", key,
			c.steps), false))(t)
		own.Setup = strings.Split(c.setup, "; ")
		r, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Own: own, Txns: 20, Sessions: 1})
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s, %s: %v; expected %q", c.setup, c.steps, err, c.refused)
			}
		case err != nil:
			t.Errorf("%s, %s: %v", c.setup, c.steps, err)
		default:
			verdict(t, r.History, level.StrictSerializable, evidence.Holds)
		}
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

// TestScheduleOfEnds: who was aborted is rolled back, where he ended; between the time that a client asked for a commit
// and the answer, what others read decides when it was.
func TestScheduleOfEnds(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":1,"session":1,"start":1,"end":9,"status":"aborted","ops":[["w","x",1,2,3]]}
{"id":2,"session":2,"start":4,"commit":7,"end":8,"ops":[["r","x",1,5,6]]}`: "b1 w1(x) b2 r2(x) c2 a1",
		`{"id":1,"session":1,"start":1,"end":9,"ops":[["w","x",1,2,3]]}
{"id":2,"session":2,"start":4,"ops":[["r","x",1,5,10]]}`: "b1 w1(x) c1 b2 r2(x) c2",
		// A lost update: the second began while the first's commit was under way, and did not see it.
		`{"id":1,"session":1,"start":1,"commit":4,"end":8,"ops":[["r","x",0,2,3],["w","x",1,3,4]]}
{"id":2,"session":2,"start":6,"commit":12,"end":13,"ops":[["r","x",0,9,10],["w","x",2,10,11]]}`: "b1 r1(x) w1(x) " +
			"b2 c1 r2(x) w2(x) c2",
		// The client of the second asked to begin before the first committed, and saw that commit.
		`{"id":1,"session":1,"start":2,"commit":4,"end":5,"ops":[["w","x",1,3,4]]}
{"id":2,"session":2,"start":1,"commit":8,"end":9,"ops":[["r","x",1,7,8]]}`: "b1 w1(x) c1 b2 r2(x) c2",
		`{"id":1,"session":1,"start":2,"commit":4,"end":9,"ops":[["a","x",1,3,4]]}
{"id":2,"session":2,"start":1,"commit":8,"end":9,"ops":[["r","y",[],1,2],["r","x",[1],3,8]]}`: "b2 r2(y) b1 w1(x) " +
			"c1 r2(x) c2",
		`{"id":1,"session":1,"start":1,"status":"unknown","ops":[["w","x",1,2,7]]}
{"id":2,"session":2,"start":4,"end":6,"ops":[["r","x",null,5,5]]}`: "b1 w1(x) b2 r2(x) c2 c1",
	} {
		path := filepath.Join(t.TempDir(), "h.jsonl")
		must.OK(t, os.WriteFile(path, []byte(text), 0o644))
		h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
		s := must.Get(collect.ScheduleOf(h))(t)
		got := slice.Map(s.Steps, func(st collect.Step) string { return st.Text })
		must.Equal(t, strings.ReplaceAll(strings.Join(got, " "), `"`, ""), want, "%s", text)
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
			must.Equal(t, found, e.violated, "a violation is found")
		})
	}
}
