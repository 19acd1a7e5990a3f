package recordsql_test

import (
	"errors"
	"strings"
	"testing"

	"isovet/internal/sqlstmt"
	"isovet/record"
)

// TestQuestion: within a transaction with a short time limit, the database is not asked what may take long.
func TestQuestion(t *testing.T) {
	for short, want := range map[string]int{"true": 0, "false": 1} {
		asked := 0
		l := &sqlstmt.Log{Rec: record.New(record.Options{})}
		c := l.NewClient(func(sql string, _ ...any) ([][]string, error) {
			switch {
			case strings.Contains(sql, "txid_current_snapshot"):
				return [][]string{{"PostgreSQL 15", "150000", "7:7:"}}, nil
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
		if s := l.Stats(); asked != want || s.NotUnderstood["the catalogue could not be read"] != 1 {
			t.Errorf("%s: %d questions; expected %d: %+v", short, asked, want, s)
		}
	}
}
