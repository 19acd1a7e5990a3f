package driver

import (
	"context"
	"fmt"
	"isovet/internal/pattern"
	"isovet/internal/sqltext"
	"strconv"
	"strings"
)

var givesRows = pattern.Lazy(`(?is)^[\s(]*(?:select|with|show|values|table|pragma|explain)\b|\breturning\b`)

// SessionSQL runs the user's statements for a new session.
func SessionSQL(o *Options, run func(string) error) error {
	for _, q := range o.SessionSQL {
		if err := run(q); err != nil {
			return fmt.Errorf("statement of a new session, %s: %w", q, err)
		}
	}
	return nil
}

// SetupSQL runs the user's statements that follow the load.
func SetupSQL(o *Options, run func(string) error) error {
	for _, q := range o.SetupSQL {
		if err := run(q); err != nil {
			return fmt.Errorf("statement of the set-up, %s: %w", q, err)
		}
	}
	return nil
}

// SayOn runs a statement on a connection of database/sql.
func SayOn(c runner, statement string) (Answer, error) {
	if !givesRows().MatchString(sqltext.Bare(statement)) {
		r, err := c.ExecContext(context.Background(), statement)
		if err != nil {
			return Answer{}, err
		}
		n, err := r.RowsAffected()
		return Answer{Affected: n}, err
	}
	rows, err := c.QueryContext(context.Background(), statement)
	if err != nil {
		return Answer{}, err
	}
	defer rows.Close()
	var a Answer
	if a.Columns, err = rows.Columns(); err != nil {
		return a, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return a, err
	}
	into := make([]any, len(a.Columns))
	for rows.Next() {
		row := make([]any, len(a.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return a, err
		}
		for i, v := range row {
			row[i] = Plain(v, strings.Contains(strings.ToUpper(types[i].DatabaseTypeName()), "INT"))
		}
		a.Rows = append(a.Rows, row)
	}
	a.Affected = int64(len(a.Rows))
	return a, rows.Err()
}

// Plain converts a value of a database/sql library to int64, string or nil.
func Plain(v any, integer bool) any {
	switch v := v.(type) {
	case nil, int64, string:
		return v
	case []byte:
		if n, err := strconv.ParseInt(string(v), 10, 64); integer && err == nil {
			return n
		}
		return string(v)
	}
	return fmt.Sprint(v)
}
