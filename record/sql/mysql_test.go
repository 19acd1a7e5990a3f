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
type busy struct{}

func (busy) Code() int     { return 5 }
func (busy) Error() string { return "database is locked" }

// TestMySQL: what ends a transaction of MySQL's besides COMMIT and ROLLBACK, and what hides where one begins.
func TestMySQL(t *testing.T) {
	text := strings.NewReplacer("WRITE", "UPDATE users SET v = 20 WHERE id = 1", `\n`, "\n")
	for _, c := range cases(t, "ends.txt") {
		settings, want, all := c[0], c[1], c[2:]
		rec := record.New(record.Options{})
		l := &sqlstmt.Log{Rec: rec, Tables: []sqlstmt.Table{{Name: "users", Key: "id", Version: "v"}}}
		now := ""
		x := l.NewClient(func(sql string, _ ...any) ([][]string, error) {
			if !strings.Contains(sql, "@@autocommit") {
				return answers(settings == "15")(sql)
			}
			must.Equal(t, strings.Contains(now, "row_count"), false, "a question before %q", now)
			return [][]string{{settings + "0"}}, map[string]error{"sqlite": errors.New("no such thing")}[settings]
		})
		for _, sql := range all {
			sql = text.Replace(sql)
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
		must.Equal(t, strings.Join(got, ", "), want, "%q", c)
	}
}
