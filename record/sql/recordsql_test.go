package recordsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/sql"
)

var accounts = recordsql.Table{Name: "accounts", Key: "id", Version: "v"}

// open is a new SQLite database with the tables, wrapped.
func open(t *testing.T, rec *record.Recorder, tables ...recordsql.Table) (*sql.DB, *recordsql.Log) {
	t.Helper()
	log := recordsql.New(rec, tables...)
	db, err := log.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "db")+
		"?_pragma=busy_timeout(5000)&_pragma=synchronous(off)&_txlock=immediate")
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, db.Close()) })
	must.Get(db.Exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY AUTOINCREMENT, v INTEGER, name TEXT)"))(t)
	return db, log
}

// ops are the operations of a history's committed transactions, by their lines.
func ops(t *testing.T, rec *record.Recorder) string {
	t.Helper()
	h := must.Get(rec.History())(t)
	var b strings.Builder
	must.OK(t, jsonl.Write(&b, h))
	var out []string
	for line := range strings.Lines(b.String()) {
		if _, ops, ok := strings.Cut(line, `"ops":`); ok {
			status := "committed"
			if strings.Contains(line, `"status":"aborted"`) {
				status = "aborted"
			}
			out = append(out, status+" "+strings.TrimSuffix(strings.TrimSpace(ops), "}"))
		}
	}
	return strings.Join(out, "\n")
}

// TestStatements: what each statement does, as it stands in the history.
func TestStatements(t *testing.T) {
	rec := record.New(record.Options{})
	ranged := accounts
	ranged.Ranges = true
	db, log := open(t, rec, ranged)
	ctx := t.Context()
	exec := func(on interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
	}, query string, args ...any) {
		t.Helper()
		must.Get(on.ExecContext(ctx, query, args...))(t)
	}
	exec(db, "INSERT INTO accounts (id, v, name) VALUES (1, 10, 'a'), (2, 20, upper('b'))")
	tx := must.Get(db.BeginTx(ctx, nil))(t)
	var id, v int
	must.OK(t, tx.QueryRow("SELECT v FROM accounts WHERE id = ?", 1).Scan(&v))
	must.Equal(t, tx.QueryRow("SELECT * FROM accounts WHERE id = $1", 9).Scan(&id, &v, new(string)), sql.ErrNoRows, "9")
	exec(tx, "UPDATE accounts SET v = ?, name = upper(?) WHERE id = ?", 11, "x", 1)
	exec(tx, "UPDATE accounts SET v = 99 WHERE id = 77") // there is none
	must.OK(t, tx.Commit())
	tx = must.Get(db.BeginTx(ctx, nil))(t)
	exec(tx, "DELETE FROM accounts WHERE id = 2")
	must.OK(t, tx.Rollback())
	must.OK(t, drain(db.Query("SELECT a.id, a.v AS x FROM accounts AS a WHERE a.id >= ? AND a.id < 5 ORDER BY id", 1)))
	must.OK(t, db.QueryRow("UPDATE accounts SET v = v + 1 WHERE id = 2 RETURNING v").Scan(&v))
	must.OK(t, db.QueryRow("INSERT INTO accounts (v) VALUES (?) RETURNING id", 30).Scan(&id))
	st := must.Get(db.Prepare("INSERT INTO accounts (id, v) VALUES (:id, :v) ON CONFLICT (id) " +
		"DO UPDATE SET v = excluded.v"))(t)
	must.Get(st.Exec(sql.Named("v", 12), sql.Named("id", 1)))(t)
	must.OK(t, st.Close())
	exec(db, "DELETE FROM accounts WHERE id IN (1, 2)")
	conn := must.Get(db.Conn(ctx))(t)
	exec(conn, "BEGIN IMMEDIATE")
	exec(conn, "REPLACE INTO accounts (id, v) VALUES (1, 13)")
	exec(conn, "COMMIT")
	must.OK(t, conn.Close())
	must.OK(t, db.QueryRow("SELECT count(*) FROM accounts").Scan(&v)) // not understood: a read
	noted := recordsql.Explicit(ctx, func(t *record.Txn) error { return t.Write("accounts/5", 50) })
	must.Get(db.ExecContext(noted, "INSERT INTO accounts SELECT 5, 50, 'z'"))(t)
	row := func(k, v int) string { return fmt.Sprintf(`{"id":%d,"table":"accounts","v":%d}`, k, v) }
	want := `committed [["w","accounts/1",` + row(1, 10) + `],["w","accounts/2",` + row(2, 20) + `]]
committed [["r","accounts/1",` + row(1, 10) + `],["r","accounts/9",null],["w","accounts/1",` + row(1, 11) + `]]
aborted [["w","accounts/2",null]]
committed [["pr",{"and":[{"table":{"=":"accounts"}},{"id":{">=":1}},{"id":{"<":5}}]},[["accounts/1",` + row(1, 11) +
		`],["accounts/2",` + row(2, 20) + `]]]]
committed [["w","accounts/2",` + row(2, 21) + `]]
committed [["w","accounts/3",` + row(3, 30) + `]]
committed [["w","accounts/1",` + row(1, 12) + `]]
committed [["w","accounts/1",null],["w","accounts/2",null]]
committed [["w","accounts/1",` + row(1, 13) + `]]
committed []
committed [["w","accounts/5",50]]`
	must.Equal(t, ops(t, rec), want, "recorded")
	must.Equal(t, fmt.Sprint(log.Stats().NotUnderstood, log.Stats().Understood), "map[an aggregate:1] 12", "statements")
}

// TestWritesThatAreMissed are counted, and what is read of their table behind them is left out.
func TestWritesThatAreMissed(t *testing.T) {
	for _, c := range cases(t, "missed.txt") {
		query := c[0]
		rec := isovettest.Recorder(t, record.Options{})
		db, log := open(t, rec, accounts)
		must.Get(db.Exec("INSERT INTO accounts (id, v, name) VALUES (1, 10, 'a'), (2, 20, 'b')"))(t)
		must.Get(db.Exec(query))(t)
		var v any
		for id := range 8 {
			if err := db.QueryRow("SELECT v FROM accounts WHERE id = ?", id).Scan(&v); err != nil &&
				!errors.Is(err, sql.ErrNoRows) {
				t.Fatal(err)
			}
		}
		got, s := ops(t, rec), log.Stats()
		must.Equal(t, strings.Contains(got, `"r"`), false, "%s: reads behind it are recorded\n%s", query, got)
		must.Equal(t, len(s.Missed) == 2 && s.Missed[0].SQL == query && s.Missed[0].Write &&
			s.Missed[1].Count == 8, true, "%s: %v", query, s)
	}
}

// TestBefore: the first read of a row that nobody has written says what was there; one that was changed by another
// program is left out.
func TestBefore(t *testing.T) {
	rec := isovettest.Recorder(t, record.Options{})
	path := filepath.Join(t.TempDir(), "db")
	other := must.Get(sql.Open("sqlite", path))(t)
	defer other.Close()
	log := recordsql.New(rec, accounts)
	db := must.Get(log.Open("sqlite", path))(t)
	defer db.Close()
	for _, query := range []string{"CREATE TABLE accounts (id INTEGER PRIMARY KEY, v INTEGER)",
		"INSERT INTO accounts VALUES (1, 10), (2, 20)", "SELECT", "UPDATE accounts SET v = 99 WHERE id = 1", "SELECT"} {
		on := other
		if query == "SELECT" {
			on, query = db, "SELECT id, v FROM accounts WHERE id IN (1, 2, 3)"
		}
		must.OK(t, drain(on.Query(query)), query)
	}
	got := strings.Split(ops(t, rec), "\n")
	slices.Sort(got)
	must.Equal(t, strings.Join(got, "\n"), `committed [["r","accounts/1",10],["r","accounts/2",20],`+
		`["r","accounts/3",null]]
committed [["r","accounts/2",20],["r","accounts/3",null]]
committed [["w","accounts/1",10],["w","accounts/2",20]]`, "recorded")
	must.Be(t, len(log.Stats().Missed) == 1 && !log.Stats().Missed[0].Write, "%v", log.Stats())
}

// transfers has clients move versions about, as a program would, in the database's own transactions.
func transfers(t *testing.T, db *sql.DB, begin *sql.TxOptions, clients, each int, put string) {
	t.Helper()
	var unique atomic.Int64
	unique.Store(100)
	var all sync.WaitGroup
	for c := range clients {
		random := rand.New(rand.NewPCG(uint64(c), 5))
		all.Go(func() {
			for range each {
				a, b := 1+random.IntN(5), 1+random.IntN(5)
				one := func() error {
					tx, err := db.BeginTx(t.Context(), begin)
					if err != nil {
						return err
					}
					defer tx.Rollback()
					var v, w any
					if err := tx.QueryRow(strings.Replace(put, "PUT", "SELECT v FROM accounts WHERE id = $1", 1),
						a).Scan(&v); err != nil {
						return err
					}
					if err := tx.QueryRow("SELECT v FROM accounts WHERE id = $1", b).Scan(&w); err != nil {
						return err
					}
					if _, err := tx.Exec("UPDATE accounts SET v = $1 WHERE id = $2", unique.Add(1), b); err != nil {
						return err
					}
					return tx.Commit()
				}
				if err := one(); err != nil && !recordsql.Aborted(err) && !errors.Is(err, sql.ErrTxDone) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestSQLite records a program on SQLite from many goroutines: serializable, with sessions and real time too.
func TestSQLite(t *testing.T) {
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "sqlite"}})
	db, log := open(t, rec, accounts)
	must.Get(db.Exec("INSERT INTO accounts (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)"))(t)
	transfers(t, db, nil, 4, 100, "PUT")
	s := rec.Stats()
	must.Equal(t, s.Committed >= 300 && s.Unknown == 0, true, "%+v", s)
	must.Equal(t, len(log.Stats().NotUnderstood), 0, "%v", log.Stats())
	h := must.Get(rec.History())(t)
	r, err := isovettest.Run(t.Context(), h, isovettest.Options{Level: level.StrictSerializable})
	must.Equal(t, err != nil || r.Verdict != evidence.Holds, false, "%v: %v %s", err, r.Verdict, r.Reason)
}

// TestReplaced: a REPLACE that deletes the row of another key is not recorded, and neither are later reads, since the
// row is not absent without a reason.
func TestReplaced(t *testing.T) {
	for _, unique := range []string{"", " UNIQUE"} {
		rec := record.New(record.Options{})
		db, log := open(t, rec, recordsql.Table{Name: "users", Key: "id", Version: "v"})
		for _, q := range []string{"CREATE TABLE users (id INTEGER PRIMARY KEY, v INTEGER, mail TEXT" + unique + ")",
			"REPLACE INTO users (id, v, mail) VALUES (1, 10, 'a')",
			"REPLACE INTO users (id, v, mail) VALUES (2, 20, 'a')"} {
			must.Get(db.Exec(q))(t)
		}
		for id := 1; id <= 2; id++ {
			must.OK(t, drain(db.Query("SELECT v FROM users WHERE id = ?", id)))
		}
		h := must.Get(rec.History())(t)
		r, err := isovettest.Run(t.Context(), h, isovettest.Options{Level: level.StrictSerializable})
		must.Be(t, err == nil && r.Verdict != evidence.Violated && len(log.Stats().Missed) > 0 == (unique != ""),
			"%q: %v: %v\n%s\n%v", unique, err, r.Verdict, ops(t, rec), log.Stats())
	}
}

// TestCallers: a transaction's name has the statements, each with the line of the program that it comes from, also
// where the text is cut.
func TestCallers(t *testing.T) {
	rec := record.New(record.Options{})
	db, _ := open(t, rec, accounts)
	_, _, line, _ := runtime.Caller(0)
	_, err := db.Exec("INSERT INTO accounts (id, v) VALUES (1, 10)")
	tx, err2 := db.Begin()
	must.OK(t, errors.Join(err, err2))
	var v any
	err = tx.QueryRow("SELECT v FROM accounts WHERE id = ?", 1).Scan(&v)
	st, err2 := tx.Prepare("UPDATE accounts SET v = ? WHERE id = 1")
	must.OK(t, errors.Join(err, err2))
	_, err = st.Exec(11)
	must.OK(t, errors.Join(err, st.Close(), tx.Commit()))
	err = db.QueryRow("SELECT v FROM accounts WHERE id = 1 -- " + strings.Repeat("long ", 100)).Scan(&v)
	h, err2 := rec.History()
	must.OK(t, errors.Join(err, err2))
	got := slice.Map(h.Txns.Name, func(n uint32) string { return string(h.Texts.Text(n)) })
	at := func(n int) string { return fmt.Sprintf(`/\* (isovet/)?record/sql/recordsql_test.go:%d \*/`, line+n) }
	for i, want := range []string{`^INSERT INTO accounts \(id, v\) VALUES \(1, 10\) ` + at(1) + `$`,
		`^SELECT v FROM accounts WHERE id = \? ` + at(5) + `; UPDATE accounts SET v = \? WHERE id = 1 ` + at(8) + `;$`,
		`^SELECT v .* l?o?n?g? ?… ` + at(10) + `$`} {
		must.Equal(t, i >= len(got) || !regexp.MustCompile(want).MatchString(got[i]), false,
			"%q; expected %s", got, want)
	}
}
