package recordsql_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/record"
	"isovet/record/sql"
)

// answers is a MariaDB, or a PostgreSQL with one table.
func answers(postgres bool) sqlstmt.Ask {
	return func(sql string, _ ...any) ([][]string, error) {
		switch asks := func(s string) bool { return strings.Contains(sql, s) }; {
		case asks("txid_current_snapshot") && !postgres:
			return nil, errors.New("no such function")
		case asks("txid_current_snapshot"):
			return [][]string{{"PostgreSQL 15", "150000", "7:7:"}}, nil
		case asks("@@autocommit"):
			return [][]string{{"1110"}}, nil
		case asks("pg_language"):
			return [][]string{{"", "", "", "", "f", "f", "serializable", "db", "t"}}, nil
		case asks("relpersistence"):
			return [][]string{{"9", "public", "users", "r", "p", "f", "", "f", "f", "t", "id\tinteger\tt\t1\tf\t=\t", ""}}, nil
		}
		return [][]string{{"0,0,1,1,0,0,0,1,1"}}, nil
	}
}

// TestBeside: a row that is not returned may be one that a statement of another client, which is under way, has deleted
// or changed.
func TestBeside(t *testing.T) {
	const one, greater = "SELECT v FROM users WHERE id = 1", "SELECT id, v FROM users WHERE v > 5"
	for _, c := range []struct {
		postgres          bool
		beside, read, yes string
	}{
		{false, "DELETE FROM other", one, "null"},
		{false, "DELETE FROM users WHERE id = 1", one, ""},
		{false, "DELETE FROM users; SELECT 1", one, ""},
		{false, "UPDATE users SET v = 9 WHERE id = 2", one, "null"},
		{false, "UPDATE users SET v = v - 9 WHERE id = 2", one, ""},
		{false, "INSERT INTO users (id, v) VALUES (1, 4)", one, "null"},
		{false, "UPDATE other SET v = 4 WHERE v = 9", greater, "pr"},
		{false, "UPDATE users SET v = 4 WHERE v = 9", greater, ""}, // perhaps it is not understood in the end
		{false, "REPLACE INTO users (id, v) VALUES (1, 4), (2, 5)", greater, ""},
		{true, "UPDATE users SET v = 4", one, "null"},
		{true, "DELETE FROM users", one, ""},
		{true, "UPDATE users SET id = 4", one, ""},
		{true, "INSERT INTO users VALUES (4) ON CONFLICT (v) DO UPDATE SET id = 4", one, ""},
	} {
		rec := record.New(record.Options{})
		l := &sqlstmt.Log{Rec: rec}
		if !c.postgres {
			l.Tables = []sqlstmt.Table{{Name: "users", Key: "id", Version: "v", Ranges: true}}
		}
		x, y := l.NewClient(answers(c.postgres)), l.NewClient(answers(c.postgres))
		x.Start(x.Plan(c.beside), nil, nil)
		y.Start(y.Plan(c.read), nil, nil).End(nil, &sqlstmt.Result{Columns: []string{"id", "v"}, All: true})
		got := ops(t, rec)
		must.Equal(t, strings.Contains(got, `["r"`) || strings.Contains(got, `["pr"`), c.yes != "", "%v: %s", c, got)
	}
}

// TestReturned: rows of RETURNING that were not all read, of one row, beside a deletion, of a query.
func TestReturned(t *testing.T) {
	for _, c := range []struct {
		write string
		all   bool
		rows  int
		yes   string
	}{
		{"UPDATE users SET v = 9 WHERE id = 1 RETURNING id, v", false, 1, `["w","users/1",9]`},
		{"UPDATE users SET v = 9 WHERE id < 3 RETURNING id, v", false, 1, ""},
		{"UPDATE users SET v = 9 WHERE id < 3 RETURNING id, v", true, 1, `["w","users/1",9]`},
		{"INSERT INTO users (id, v) VALUES (1, 9) RETURNING id, v", false, 1, `["w","users/1",9]`},
		{"INSERT INTO users (id, v) SELECT 1, 9 RETURNING id, v", true, 1, `["w","users/1",9]`},
		{"INSERT INTO users (id, v) SELECT 1, 9 RETURNING id, v", false, 0, ""},
		{"INSERT INTO users (id, v) SELECT 1, 9 RETURNING id", true, 1, ""},
	} {
		rec := record.New(record.Options{})
		l := &sqlstmt.Log{Rec: rec, Tables: []sqlstmt.Table{{Name: "users", Key: "id", Version: "v"}}}
		x, y := l.NewClient(answers(false)), l.NewClient(answers(false))
		x.Start(x.Plan("DELETE FROM users WHERE id = 5"), nil, nil)
		y.Start(y.Plan(c.write), nil, nil).End(nil, &sqlstmt.Result{Columns: []string{"id", "v"}, Affected: -1,
			Rows: [][]any{{int64(1), int64(9)}}[:c.rows], All: c.all})
		got, missed := ops(t, rec), len(l.Stats().Missed)
		must.Equal(t, strings.Contains(got, c.yes) && (missed == 0) == (c.yes != ""), true, "%v: %s, %d", c, got, missed)
	}
}

// TestUnclearRows: of the rows of a statement without an answer, either all are written or none.
func TestUnclearRows(t *testing.T) {
	for write, yes := range map[string]bool{"INSERT INTO users (id, v) VALUES (1, 8), (2, 9)": true,
		"INSERT IGNORE INTO users (id, v) VALUES (1, 8), (2, 9)": false} {
		rec := record.New(record.Options{})
		l := &sqlstmt.Log{Rec: rec, Tables: []sqlstmt.Table{{Name: "users", Key: "id", Version: "v"}}}
		x := l.NewClient(answers(false))
		x.Start(x.Plan(write), nil, nil).End(errors.New("lost"), &sqlstmt.Result{Affected: -1})
		must.Equal(t, strings.Contains(ops(t, rec), "users/2"), yes, "%s", write)
	}
}

// TestCommitRefused: a reader keeps SQLite from committing. The driver rolls back, and the next transaction is recorded.
func TestCommitRefused(t *testing.T) {
	file := "file:" + filepath.Join(t.TempDir(), "db")
	rec := record.New(record.Options{})
	log := recordsql.New(rec, accounts)
	plain, db := must.Get(sql.Open("sqlite", file))(t), must.Get(log.Open("sqlite", file))(t)
	defer plain.Close()
	defer db.Close()
	db.SetMaxOpenConns(1)
	must.Get(plain.Exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO accounts VALUES (1, 1), (2, 2)"))(t)
	reader := must.Get(plain.Query("SELECT v FROM accounts"))(t)
	must.Equal(t, reader.Next(), true, "a row")
	for v := 10; v < 12; v++ {
		tx := must.Get(db.Begin())(t)
		must.Get(tx.Exec("UPDATE accounts SET v = ? WHERE id = 1", v))(t)
		must.Equal(t, tx.Commit() != nil, v == 10, "COMMIT fails")
		must.OK(t, reader.Close())
	}
	must.OK(t, drain(db.Query("SELECT v FROM accounts WHERE id = 1")))
	must.Equal(t, ops(t, rec), `aborted [["w","accounts/1",10]]
committed [["w","accounts/1",11]]
committed [["r","accounts/1",11]]`, "%v", log.Stats())
}
