package sqlstmt

import (
	"errors"
	"strings"
	"testing"

	"isovet/record"
)

// TestQuestion: within a transaction with a short time limit, the database is not asked what may take long.
func TestQuestion(t *testing.T) {
	for short, want := range map[string]int{"true": 0, "false": 1} {
		asked := 0
		l := &Log{Rec: record.New(record.Options{})}
		c := l.NewClient(func(sql string, _ ...any) ([][]string, error) {
			switch {
			case sql == askStart:
				return [][]string{{"PostgreSQL 15", "150000", "7:7:"}}, nil
			case sql == askView:
				return [][]string{{"a view"}}, nil
			case strings.Contains(sql, "statement_timeout"):
				return [][]string{{short}}, nil
			}
			asked++
			return nil, errors.New("the time limit")
		})
		c.Start(c.Plan("BEGIN"), nil, nil).End(nil, &Result{})
		if p := c.Plan("SELECT v FROM accounts"); asked != want || p.why != unreadable {
			t.Errorf("%s: %d questions; expected %d: %+v", short, asked, want, p)
		}
	}
}
