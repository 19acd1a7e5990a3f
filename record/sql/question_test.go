package recordsql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/record"
)

// TestQuestion: within a transaction with a short time limit, the database is not asked what may take long. The first
// question is cancelled, and asked again.
func TestQuestion(t *testing.T) {
	for short, want := range map[string]int{"true": 0, "false": 1} {
		asked, first := 0, error(&pgconn.PgError{Code: "57014"})
		l := &sqlstmt.Log{Rec: record.New(record.Options{})}
		c := l.NewClient(func(sql string, _ ...any) ([][]string, error) {
			switch {
			case strings.Contains(sql, "txid_current_snapshot"):
				defer func() { first = nil }()
				return [][]string{{"PostgreSQL 15", "150000", "7:7:"}}, first
			case strings.Contains(sql, "current_schemas"):
				return [][]string{{"a view"}}, nil
			case strings.Contains(sql, "statement_timeout"):
				return [][]string{{short}}, nil
			}
			asked++
			return nil, errors.New("the time limit")
		})
		c.Start(c.Plan("BEGIN"), nil, nil).End(nil, &sqlstmt.Result{})
		c.Start(c.Plan("SELECT v FROM accounts"), nil, nil).End(nil, &sqlstmt.Result{})
		got := []int{asked, l.Stats().NotUnderstood["the catalogue could not be read"]}
		must.Equal(t, fmt.Sprint(got), fmt.Sprint([]int{want, 1}), "%s", short)
	}
}
