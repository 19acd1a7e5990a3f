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
			return [][]string{{"9", "public", "users", "r", "p", "f", "", "f", "f", "t", "id\tinteger\tt\t1\tf\t=\t",
				""}}, nil
		}
		return [][]string{{"0,0,1,1,0,0,0,1,1"}}, nil
	}
}

// heard returns what is recorded of a statement on MariaDB, or PostgreSQL, while another client's is under way.
func heard(t *testing.T, postgres bool, beside, text string, err error, res sqlstmt.Result) string {
	l := &sqlstmt.Log{Rec: record.New(record.Options{})}
	if !postgres {
		l.Tables = []sqlstmt.Table{{Name: "users", Key: "id", Version: "v", Ranges: strings.Contains(text, "v > 5")}}
	}
	x, y := l.NewClient(answers(postgres)), l.NewClient(answers(postgres))
	x.Start(x.Plan(beside), nil, nil)
	y.Start(y.Plan(text), nil, nil).End(err, &res)
	return ops(t, l.Rec) + l.Stats().String()
}

// TestBeside: a row that is not returned may be one that a statement of another client, which is under way, has deleted
// or changed. A third part says PostgreSQL.
func TestBeside(t *testing.T) {
	for _, c := range cases(t, "beside.txt") {
		for text, told := range map[string]bool{"SELECT v FROM users WHERE id = 1": true,
			"SELECT id, v FROM users WHERE v > 5": c[0] == "nothing"} {
			if told = told && c[0] != "deleted"; len(c) > 2 && strings.Contains(text, ">") {
				continue
			}
			got := heard(t, len(c) > 2, c[1], text, nil, sqlstmt.Result{Columns: []string{"id", "v"}, All: true})
			must.Equal(t, strings.Contains(got, `["r"`) || strings.Contains(got, `["pr"`), told, "%s: %s: %s", c, text,
				got)
		}
	}
}

// TestReturned: rows of RETURNING that were not all read, of one row, beside a deletion, of a query; and the rows of a
// statement without an answer, of which some may be written.
func TestReturned(t *testing.T) {
	for _, c := range cases(t, "returned.txt") {
		var err error
		res := sqlstmt.Result{Columns: []string{"id", "v"}, Affected: -1, All: strings.Contains(c[0], "all")}
		switch {
		case strings.Contains(c[0], "lost"):
			err = errors.New("lost")
		case strings.Contains(c[0], "row"):
			res.Rows = [][]any{{int64(1), int64(9)}}
		}
		got, yes := heard(t, false, "DELETE FROM users WHERE id = 5", c[1], err, res), c[2] == "yes"
		must.Equal(t, strings.Contains(got, `["w","users/1",9]`) == yes && strings.Contains(got, " not, ") != yes, true,
			"%s: %s", c, got)
	}
}

// TestCommitRefused: a reader keeps SQLite from committing. The driver rolls back, and what follows is recorded.
func TestCommitRefused(t *testing.T) {
	file := "file:" + filepath.Join(t.TempDir(), "db")
	rec := record.New(record.Options{})
	log := recordsql.New(rec, accounts)
	plain, db := must.Get(sql.Open("sqlite", file))(t), must.Get(log.Open("sqlite", file))(t)
	defer plain.Close()
	defer db.Close()
	db.SetMaxOpenConns(1)
	must.Get(plain.Exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, v INTEGER); INSERT INTO accounts VALUES " +
		"(1, 1), (2, 2)"))(t)
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
