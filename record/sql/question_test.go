package recordsql_test

import (
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/record"
)

// TestQuestion: within a transaction, the time limit and the compiler are off while the database is asked what may take
// long. The first question is cancelled, and asked again; that of another connection was lost. If nothing is known of a
// function, it may write.
func TestQuestion(t *testing.T) {
	for text, writes := range map[string]bool{"v": false, "f(v)": true} {
		asked, first := "", error(&pgconn.PgError{Code: "57014"})
		l := &sqlstmt.Log{Rec: record.New(record.Options{})}
		l.NewClient(func(string, ...any) ([][]string, error) { return nil, driver.ErrBadConn })
		c := l.NewClient(func(sql string, _ ...any) ([][]string, error) {
			switch {
			case strings.Contains(sql, "txid_current_snapshot"):
				defer func() { first = nil }()
				return [][]string{{"PostgreSQL 15", "150000", "7:7:"}}, first
			case strings.Contains(sql, "current_schemas"):
				return [][]string{{"a view"}}, nil
			case strings.Contains(sql, "statement_timeout"):
				asked += sql
				return [][]string{{"7", "on"}}, nil
			}
			return nil, &pgconn.PgError{Code: "57014"}
		})
		c.Start(c.Plan("BEGIN"), nil, nil).End(nil, &sqlstmt.Result{})
		p, err := c.Planned("SELECT " + text + " FROM accounts")
		must.Equal(t, sqlstmt.Aborted(err), true, "it is cancelled: %v", err)
		c.Start(p, nil, nil).End(nil, &sqlstmt.Result{})
		missed := l.Stats().Missed
		must.Equal(t, len(missed) == 1 && missed[0].Why == "the catalogue could not be read" &&
			missed[0].Write == writes && strings.Contains(asked, "'0', true), set_config('jit', 'off'"), true,
			"%s: %+v", asked, missed)
	}
}
