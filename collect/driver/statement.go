package driver

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Answer is what a statement of the user's gave.
type Answer struct {
	Columns []string
	// Rows have a value for each column: int64, string, or nil.
	Rows     [][]any
	Affected int64 // rows that it inserted, changed or deleted
}

// Speaker is a Session that runs statements of the user's own.
type Speaker interface {
	// Say runs one statement, in which all values are written out.
	Say(statement string) (Answer, error)
}

// answersRows reports whether a statement gives rows: a query, or one that returns what it changed.
func answersRows(statement string) bool { return givesRows.MatchString(statement) }

var givesRows = regexp.MustCompile(`(?is)^\s*(?:select|with|show|values|table|pragma)\b|\breturning\b`)

// sessionSQL runs the statements that the user wants a new session to begin with.
func sessionSQL(o *Options, run func(string) error) error {
	for _, q := range o.SessionSQL {
		if err := run(q); err != nil {
			return fmt.Errorf("statement of a new session, %s: %w", q, err)
		}
	}
	return nil
}

// setupSQL runs the statements that the user wants run once, behind the load.
func setupSQL(o *Options, run func(string) error) error {
	for _, q := range o.SetupSQL {
		if err := run(q); err != nil {
			return fmt.Errorf("statement of the set-up, %s: %w", q, err)
		}
	}
	return nil
}

// say runs a statement on a connection of database/sql.
func say(c *sql.Conn, statement string) (Answer, error) {
	if !answersRows(statement) {
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
			row[i] = plain(v, strings.Contains(strings.ToUpper(types[i].DatabaseTypeName()), "INT"))
		}
		a.Rows = append(a.Rows, row)
	}
	a.Affected = int64(len(a.Rows))
	return a, rows.Err()
}

// plain makes int64, string or nil of what a library of database/sql returns.
func plain(v any, integer bool) any {
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

// Say runs a statement by the simple protocol.
func (s *postgresSession) Say(statement string) (Answer, error) {
	results, err := s.c.Exec(context.Background(), statement).ReadAll()
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	for _, r := range results {
		a = postgresAnswer(r)
	}
	return a, nil
}

// postgresAnswer reads a result in text form; the types are the catalogue's: int8, int2, int4 and oid.
func postgresAnswer(r *pgconn.Result) Answer {
	a := Answer{Affected: r.CommandTag.RowsAffected()}
	var integer []bool
	for _, f := range r.FieldDescriptions {
		a.Columns = append(a.Columns, f.Name)
		integer = append(integer, f.DataTypeOID == 20 || f.DataTypeOID == 21 || f.DataTypeOID == 23 ||
			f.DataTypeOID == 26)
	}
	for _, raw := range r.Rows {
		row := make([]any, len(raw))
		for i, b := range raw {
			if b != nil {
				row[i] = plain(append([]byte(nil), b...), integer[i])
			}
		}
		a.Rows = append(a.Rows, row)
	}
	return a
}

// Say runs a statement as text.
func (s *mysqlSession) Say(statement string) (Answer, error) { return say(s.c, statement) }

// Say runs a statement as text.
func (x *sqliteSession) Say(statement string) (Answer, error) { return say(x.c, statement) }
