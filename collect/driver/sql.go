package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// KVTable returns the statement that makes the table of plain rows, without the options for tables.
func KVTable(wide bool, integer, text string) string {
	w := ""
	if wide {
		w = ", w " + text
	}
	return fmt.Sprintf("create table isovet_kv(k %[1]s primary key, u %[1]s not null, p %[1]s%[2]s)", integer, w)
}

// KVGet returns the statement that reads a plain row. KVPut returns the one that writes it.
func KVGet(wide bool) string {
	if wide {
		return "select u, p, w from isovet_kv where k = ?"
	}
	return "select u, p from isovet_kv where k = ?"
}

func KVPut(wide bool, u Upsert) string {
	columns := KVColumns(wide)
	return u.SQL(KVName, columns, slices.Repeat([]string{"?"}, len(columns)), false, "")
}

// ListAppend returns the statement that adds an element to a list.
func ListAppend(u Upsert) string { return u.SQL(ListName, ListColumns, []string{"?", "?"}, true, "") }

// KVArgs returns the arguments of KVPut.
func KVArgs(wide bool, key int64, r Row) []any {
	args := []any{key, r.Version, nil}
	if !r.Dead {
		args[2] = r.Payload
	}
	if wide {
		args = append(args, wideText(r))
	}
	return args
}

// wideText returns a row's column w.
func wideText(r Row) any {
	if r.Wide == nil {
		return nil
	}
	return string(AppendList(nil, r.Wide))
}

// ScanRow reads the columns u and p, and w.
func ScanRow(wide bool, q *sql.Row) (r Row, found bool, err error) {
	var p sql.NullInt64
	var w sql.NullString
	into := []any{&r.Version, &p, &w}
	if !wide {
		into = into[:2]
	}
	if err = q.Scan(into...); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return Row{}, false, err
	}
	r.Payload, r.Dead = p.Int64, !p.Valid
	if w.Valid {
		r.Wide, err = ParseList([]int64{}, w.String)
	}
	return r, true, err
}

// ScanList reads a list's text.
func ScanList(dst []int64, q *sql.Row) ([]int64, bool, error) {
	var text string
	if err := q.Scan(&text); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return dst, false, err
	}
	dst, err := ParseList(dst, text)
	return dst, true, err
}

// runner is a connection, or a transaction on one.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// AskInts returns a function that runs a statement whose rows, if it has any, are integers.
func AskInts(c runner) func(string, func([]int64) error) error {
	var ints []int64
	var into []any
	return func(q string, row func([]int64) error) error {
		runtime.Gosched()
		if !strings.HasPrefix(q, "select") && !strings.Contains(q, " returning ") {
			_, err := c.ExecContext(context.Background(), q)
			return err
		}
		rows, err := c.QueryContext(context.Background(), q)
		if err != nil {
			return err
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		if len(ints) != len(names) {
			ints, into = make([]int64, len(names)), make([]any, len(names))
			for i := range ints {
				into[i] = &ints[i]
			}
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			if err := row(ints); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}

// TextOn returns a function that runs a statement whose answer is one text.
func TextOn(ctx context.Context, c *sql.Conn) func(string) (string, error) {
	return func(q string) (text string, err error) {
		return text, c.QueryRowContext(ctx, q).Scan(&text)
	}
}

// ExecOn returns a function that runs a statement.
func ExecOn(ctx context.Context, c *sql.Conn) func(string) error {
	return func(q string) error {
		_, err := c.ExecContext(ctx, q)
		return err
	}
}

// Undoes checks, with the mark's row, that a transaction can be rolled back. A table may be of a kind without
// transactions, and some servers commit each statement at once.
func Undoes(exec func(string) error, ask func(string) (string, error), begin, name string, mark int64) error {
	for _, q := range []string{begin, fmt.Sprintf("update isovet_kv set u = 0 where k = %d", MarkKey), "rollback"} {
		if err := exec(q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	u, err := ask(fmt.Sprintf("select u from isovet_kv where k = %d", MarkKey))
	if err == nil && u != strconv.FormatInt(mark, 10) {
		err = Unsupported("%s: the writes of a transaction that %q began remain after its rollback", name, begin)
	}
	return err
}

// SQLLoad inserts rows, batch rows with each statement, then the rows of tables with columns, and the mark last.
func SQLLoad(exec func(sql string) error, d Data, batch int) error {
	const insert = "insert into isovet_kv values "
	text, n := []byte(insert), 0
	flush := func() error {
		if n == 0 {
			return nil
		}
		err := exec(string(text))
		text, n = text[:len(insert)], 0
		return err
	}
	add := func(k int64, r Row) error {
		if n > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '('), k, 10)
		text = strconv.AppendInt(append(text, ','), r.Version, 10)
		if r.Dead {
			text = append(text, ",null"...)
		} else {
			text = strconv.AppendInt(append(text, ','), r.Payload, 10)
		}
		switch {
		case r.Wide != nil:
			text = append(AppendList(append(text, ",'"...), r.Wide), '\'')
		case d.Wide:
			text = append(text, ",null"...)
		}
		text = append(text, ')')
		if n++; n == batch {
			return flush()
		}
		return nil
	}
	for k, r := range d.Rows {
		if err := add(k, r); err != nil {
			return err
		}
	}
	if err := LoadTables(d.Tables, batch, exec); err != nil {
		return err
	}
	if err := add(MarkKey, Row{Version: d.Mark, Dead: true}); err != nil {
		return err
	}
	return flush()
}

// Discard closes a connection instead of returning it to the pool.
func Discard(c *sql.Conn) {
	_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = c.Close()
}
