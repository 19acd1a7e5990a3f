package recordsql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"io"
	"reflect"
	"slices"

	"isovet/internal/slice"
	"isovet/internal/sqlstmt"
	"isovet/record"
)

func note(ctx context.Context) func(*record.Txn) error {
	n, _ := ctx.Value(explicit{}).(func(*record.Txn) error)
	return n
}

// exec runs a statement for a program that wants no rows. do sends it unchanged; rows sends it as a query if its rows
// are needed.
func (c *conn) exec(ctx context.Context, plan *sqlstmt.Plan, args []driver.NamedValue,
	do func() (driver.Result, error), ask func() (driver.Rows, error)) (driver.Result, error) {
	r := c.start(plan, argsOf(args), note(ctx))
	if plan.Rewritten() {
		in, err := ask()
		if err == driver.ErrSkip {
			r.Dropped()
			return nil, err
		}
		x := &rows{Rows: in, plan: plan, out: sqlstmt.Result{Affected: -1}}
		if err == nil {
			err = cmp.Or(x.drain(), in.Close())
		}
		r.End(err, &x.out)
		return driver.RowsAffected(x.n), err
	}
	res, err := do()
	if err == driver.ErrSkip {
		r.Dropped()
		return nil, err
	}
	out := &sqlstmt.Result{Affected: -1, Unseen: true}
	if err == nil && res != nil { // SQLite has none of an empty text
		if n, err := res.RowsAffected(); err == nil {
			out.Affected = n
			out.Counted, _ = res.LastInsertId()
		}
	}
	r.End(err, out)
	return res, err
}

func (c *conn) query(ctx context.Context, plan *sqlstmt.Plan, args []driver.NamedValue,
	do func() (driver.Rows, error)) (driver.Rows, error) {
	n := note(ctx)
	r := c.start(plan, argsOf(args), n)
	in, err := do()
	switch {
	case err == driver.ErrSkip:
		r.Dropped()
		return in, err
	case err != nil:
		r.End(err, &sqlstmt.Result{Affected: -1})
		return in, err
	}
	c.c.Open++
	x := &rows{Rows: in, c: c.c, r: r, plan: plan, out: sqlstmt.Result{Affected: -1}}
	if plan.Drain() && !plan.Returns() && x.drain() != nil { // the program gets no row
		_ = x.Close()
		return nil, x.err
	}
	x.out.Columns = x.Columns()
	switch {
	case !plan.Concerns() && n == nil:
		x.tell()
	case n == nil && !plan.Rewritten(): // PostgreSQL takes no other meanwhile
		c.open = x
	}
	return x, nil
}

// rows passes the rows on to the program, without the added columns, and records them.
type rows struct {
	driver.Rows
	c    *sqlstmt.Client // nil: closed
	r    *sqlstmt.Run
	plan *sqlstmt.Plan
	out  sqlstmt.Result
	err  error
	full []driver.Value
	n    int64
	more bool // another result is read, which is not this statement's
	done bool
}

func (x *rows) Columns() []string {
	c := x.Rows.Columns() // a driver may have none behind an error
	return c[min(x.hidden(), len(c)):]
}

func (x *rows) hidden() int {
	if x.more {
		return 0
	}
	return x.plan.Hidden
}

func (x *rows) Next(dest []driver.Value) error {
	n := x.hidden()
	into := dest
	if n > 0 {
		if len(x.full) != n+len(dest) {
			x.full = make([]driver.Value, n+len(dest))
		}
		into = x.full
	}
	err := x.Rows.Next(into)
	copy(dest, into[n:])
	switch {
	case x.more || x.done:
	case err == nil:
		look := into
		if n > 0 {
			look = into[:n]
		}
		x.n++
		x.out.Add(slice.Map(look, func(v driver.Value) any {
			if b, ok := v.([]byte); ok {
				return slices.Clone(b)
			}
			return v
		}))
	case err == io.EOF:
		x.out.All = true
	default:
		x.err = err
	}
	return err
}

func (x *rows) drain() error {
	dest := make([]driver.Value, len(x.Columns()))
	for !x.out.All && x.err == nil {
		_ = x.Next(dest) // x.err
	}
	return x.err
}

func (x *rows) Close() error {
	if !x.done && !x.more && x.plan.Drain() {
		_ = x.drain() // told below
	}
	err := x.Rows.Close()
	if x.c != nil {
		x.c.Open--
		x.c = nil
	}
	x.err = cmp.Or(x.err, err)
	x.tell()
	return err
}

// tell records the rows so far.
func (x *rows) tell() {
	if !x.done {
		x.done = true
		x.r.End(x.err, &x.out)
	}
}

func (x *rows) HasNextResultSet() bool {
	n, ok := x.Rows.(driver.RowsNextResultSet)
	return ok && n.HasNextResultSet()
}

func (x *rows) NextResultSet() error {
	x.more = true
	if n, ok := x.Rows.(driver.RowsNextResultSet); ok {
		return n.NextResultSet()
	}
	return io.EOF
}

func (x *rows) ColumnTypeScanType(i int) reflect.Type {
	if c, ok := x.Rows.(driver.RowsColumnTypeScanType); ok {
		return c.ColumnTypeScanType(i + x.hidden())
	}
	return reflect.TypeFor[any]()
}

func (x *rows) ColumnTypeDatabaseTypeName(i int) string {
	if c, ok := x.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return c.ColumnTypeDatabaseTypeName(i + x.hidden())
	}
	return ""
}

func (x *rows) ColumnTypeLength(i int) (int64, bool) {
	if c, ok := x.Rows.(driver.RowsColumnTypeLength); ok {
		return c.ColumnTypeLength(i + x.hidden())
	}
	return 0, false
}

func (x *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if c, is := x.Rows.(driver.RowsColumnTypeNullable); is {
		return c.ColumnTypeNullable(i + x.hidden())
	}
	return false, false
}

func (x *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if c, is := x.Rows.(driver.RowsColumnTypePrecisionScale); is {
		return c.ColumnTypePrecisionScale(i + x.hidden())
	}
	return 0, 0, false
}
