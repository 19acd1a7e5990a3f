package recordsql_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/record"
)

// stated is an error of PostgreSQL's as bun's driver has it.
type stated struct{ error }

func (stated) Field(byte) string { return "23505" }

// busy is an error of SQLite's.
type busy struct{ error }

func (busy) Code() int     { return 5 }
func (busy) Error() string { return "database is locked" }

// TestMySQL: what ends a transaction of MySQL's besides COMMIT and ROLLBACK, and what hides where one begins.
func TestMySQL(t *testing.T) {
	const write = "UPDATE users SET v = 20 WHERE id = 1"
	for _, c := range []struct {
		settings string
		sql      []string
		want     string // the recorded transactions, with how many writes each has
	}{
		{"111", []string{"BEGIN", write, "CREATE TABLE a (b int)", "ROLLBACK"}, "committed 1"},
		{"111", []string{"BEGIN", write, "/* x */ LOCK TABLES a READ", "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "CREATE TEMPORARY TABLE a (b int)", "ROLLBACK"}, "aborted 1"},
		{"111", []string{"BEGIN", write, "!ALTER TABLE a ADD c int", write, "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "START TRANSACTION", write, "COMMIT"}, "unknown 1, committed 1"},
		{"111", []string{"BEGIN", write, "SET autocommit = 1", write, "ROLLBACK", write}, "unknown 1, committed 1"},
		{"111", []string{"BEGIN", write, "UNLOCK TABLES", "ROLLBACK", write}, "unknown 1, committed 1"},
		{"111", []string{"BEGIN", write, "DROP PREPARE s", "ROLLBACK"}, "aborted 1"},
		{"111", []string{"BEGIN", write, "!CREATE TABEL a", write, "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "CALL p()", "BEGIN", write, "COMMIT"}, "unknown 1, committed 1"},
		{"111", []string{"XA START 'x'", "!BEGIN", write, "XA END 'x'", "XA ROLLBACK 'x'"}, "aborted 0"},
		{"111", []string{"XA START 'x'", write, "XA END 'x'", "XA ROLLBACK 'x'"}, ""},
		{"111", []string{write, "BEGIN", write, "COMMIT"}, "committed 1, committed 1"},
		{"011", []string{write, "ROLLBACK"}, ""},
		{"101", []string{"BEGIN", write, "COMMIT", write, "ROLLBACK"}, ""},
		{"111", []string{"START TRANSACTION WITH CONSISTENT SNAPSHOT", write, "ROLLBACK"}, "aborted 1"},
		{"111", []string{"BEGIN # x", write, "ROLLBACK", write}, "aborted 1, committed 1"},
		{"111", []string{"BEGIN", "SAVEPOINT 1a", write, "ROLLBACK TO 1A", write, "COMMIT NO RELEASE"}, "committed 1"},
		{"111", []string{"BEGIN", write, "BEGIN NOT ATOMIC COMMIT; END", write, "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "-- x\nCREATE TABLE a (b int)", "ROLLBACK"}, "committed 1"},
		{"111", []string{"BEGIN", write, "/*!40000 CREATE TABLE a (b int) */", "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "/*M! BEGIN */", "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "SELECT ';'; # it's\nCREATE TABLE a (b int)", "ROLLBACK"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "INSERT INTO b VALUES ('; CREATE TABLE \\'')", "ROLLBACK"}, "aborted 1"},
		{"", []string{"SAVEPOINT outer", write, "ROLLBACK TO outer", "RELEASE outer"}, "committed 0"},
		{"", []string{"BEGIN", "SAVEPOINT 'a'", write, "ROLLBACK TO 'a'", "COMMIT"}, "unknown 0"},
		{"", []string{"BEGIN TRANSACTION foo", write, "ROLLBACK TRANSACTION foo", "COMMIT", write}, "committed 1"},
		{"", []string{"SAVEPOINT a; SELECT 1", write, "ROLLBACK", write}, "committed 1"},
		{"", []string{"BEGIN", "SAVEPOINT a", write, "!ROLLBACK TO a; SELECT bad", "COMMIT"}, "unknown 1"},
		{"111", []string{"BEGIN", write, "SELECT 1; CALL p", "ROLLBACK"}, "unknown 1"},
		{"111", []string{"CALL p", "SELECT row_count()"}, "committed 0"},
		{"", []string{"CREATE TRIGGER a AFTER INSERT ON b BEGIN SELECT +; END", write}, "committed 1"},
		{"", []string{"BEGIN", write, "CREATE TABLE a (b int)", "ROLLBACK"}, "aborted 1"}, // SQLite
		{"", []string{"BEGIN", "!" + write, "ROLLBACK", write}, "aborted 0, committed 1"}, // the answer is lost
		{"", []string{"BEGIN", write, "!" + write, write, "COMMIT"}, "unknown 1"},
		{"", []string{"BEGIN", "5" + write, "COMMIT"}, "committed 0"}, // the database is busy
		{"", []string{"BEGIN", write, "5COMMIT", write, "COMMIT", write}, "unknown 1, committed 1"},
		{"111", []string{"#" + write, write}, "aborted 0, committed 1"}, // it is sent again
		{"111", []string{"BEGIN", "!" + write, "COMMIT"}, "committed 0"},
		{"15", []string{"BEGIN", "!" + write, "COMMIT"}, "unknown 0"},
		{"15", []string{"BEGIN", "!SELECT 1", "SELECT 1", "COMMIT"}, "committed 0"},
		{"15", []string{"BEGIN", "?" + write, "COMMIT"}, "aborted 0"},
	} {
		rec := record.New(record.Options{})
		l := &sqlstmt.Log{Rec: rec, Tables: []sqlstmt.Table{{Name: "users", Key: "id", Version: "v"}}}
		now := ""
		x := l.NewClient(func(sql string, _ ...any) ([][]string, error) {
			switch settings := strings.Contains(sql, "@@autocommit"); {
			case c.settings == "15" && strings.Contains(sql, "txid_current_snapshot"):
				return [][]string{{"PostgreSQL 15", "150000", "7:7:"}}, nil
			case strings.Contains(sql, "txid_current_snapshot") || settings && c.settings == "":
				return nil, errors.New("no such thing")
			case settings:
				must.Equal(t, strings.Contains(now, "row_count"), false, "a question before %q", now)
				return [][]string{{c.settings + "0"}}, nil
			}
			return [][]string{{"0,0,1,1,0,0,0,1,1"}}, nil
		})
		for _, sql := range c.sql {
			err := map[byte]error{'!': errors.New("no"), '?': stated{}, '5': busy{}, '#': driver.ErrBadConn}[sql[0]]
			now = strings.TrimLeft(sql, "!?5#")
			x.Start(x.Plan(now), nil, nil).End(err, &sqlstmt.Result{Affected: 1})
		}
		h := must.Get(rec.History())(t)
		var got []string
		for u := range uint32(h.NumTxns()) {
			if lo, hi := h.TxnOps(u); u != h.Init {
				got = append(got, fmt.Sprint(h.Txns.Status[u], " ", hi-lo))
			}
		}
		must.Equal(t, strings.Join(got, ", "), c.want, "%q, %q", c.settings, c.sql)
	}
}
