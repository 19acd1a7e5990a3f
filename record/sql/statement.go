package recordsql

import (
	"context"
	"database/sql/driver"
	"io"
	"reflect"
	"slices"

	"isovet/internal/sqlstmt"
	"isovet/record"
)

// running is a statement that is being run.
type running struct {
	c     *conn
	st    *sqlstmt.Stmt
	query string
	args  []sqlstmt.Arg
	t     *record.Txn
	alone bool // the statement is a transaction by itself
	note  func(*record.Txn) error
}

// start begins a transaction for a statement that has none.
func (c *conn) start(ctx context.Context, st *sqlstmt.Stmt, query string, args []driver.NamedValue) *running {
	r := &running{c: c, st: st, query: query, args: argsOf(args), t: c.t}
	r.note, _ = ctx.Value(explicit{}).(func(*record.Txn) error)
	if r.t == nil && (st.Table != nil || r.note != nil) {
		r.t, r.alone = c.s.Begin(""), true
	}
	return r
}

// end records what the statement did.
func (r *running) end(err error, res *sqlstmt.Result) {
	if r.t == nil {
		return
	}
	sure := err == nil || Aborted(err)
	switch {
	case err == nil && r.note != nil:
		_ = r.note(r.t) // the recorder keeps what goes wrong
	case err == nil:
		r.c.l.Done(r.t, r.st, r.query, r.args, res)
	case !sure && r.st.Writes: // others may see it
		res.Unclear = true
		r.c.l.Done(r.t, r.st, r.query, r.args, res)
	}
	if !r.alone {
		return
	}
	switch {
	case err == nil:
		_ = r.t.Commit(nil)
	case sure || !r.st.Writes && r.note == nil:
		_ = r.t.Abort(nil)
	default:
		_ = r.t.Unknown()
	}
}

// control runs a statement that begins or ends a transaction; false: it does not.
func (c *conn) control(st *sqlstmt.Stmt, query string, do func() error) (bool, error) {
	switch st.Verb {
	case sqlstmt.Begin:
		if c.t != nil {
			return true, do()
		}
		t := c.s.Begin(sqlstmt.Name(query))
		err := do()
		if err != nil {
			_ = t.Abort(nil)
			return true, err
		}
		c.t = t
		return true, nil
	case sqlstmt.Commit:
		return true, c.commit(do)
	case sqlstmt.Rollback:
		return true, (&tx{c, rollback(do)}).Rollback()
	}
	return false, nil
}

// rollback is a transaction that a statement rolls back.
type rollback func() error

func (r rollback) Commit() error   { return r() }
func (r rollback) Rollback() error { return r() }

func (c *conn) exec(ctx context.Context, query string, args []driver.NamedValue,
	do func() (driver.Result, error)) (driver.Result, error) {
	st := c.l.Parse(query)
	var res driver.Result
	if is, err := c.control(st, query, func() (err error) { res, err = do(); return err }); is {
		return res, err
	}
	r := c.start(ctx, st, query, args)
	res, err := do()
	if err == driver.ErrSkip {
		if r.alone {
			_ = r.t.Abort(nil)
		}
		return res, err
	}
	out := &sqlstmt.Result{Affected: -1, Unseen: true}
	if err == nil {
		if n, err := res.RowsAffected(); err == nil {
			out.Affected = n
		}
	}
	r.end(err, out)
	return res, err
}

func (c *conn) query(ctx context.Context, query string, args []driver.NamedValue,
	do func() (driver.Rows, error)) (driver.Rows, error) {
	st := c.l.Parse(query)
	var in driver.Rows
	if is, err := c.control(st, query, func() (err error) { in, err = do(); return err }); is {
		return in, err
	}
	r := c.start(ctx, st, query, args)
	in, err := do()
	if err == driver.ErrSkip && r.alone {
		_ = r.t.Abort(nil)
		return in, err
	}
	if err != nil {
		if err != driver.ErrSkip {
			r.end(err, &sqlstmt.Result{Affected: -1})
		}
		return in, err
	}
	if r.t == nil {
		return in, nil
	}
	return &rows{Rows: in, r: r, out: sqlstmt.Result{Columns: in.Columns(), Affected: -1}}, nil
}

// rows are passed on, and looked at.
type rows struct {
	driver.Rows
	r    *running
	out  sqlstmt.Result
	err  error
	more bool // another result is read, which is not this statement's
	done bool
}

func (x *rows) Next(dest []driver.Value) error {
	err := x.Rows.Next(dest)
	switch {
	case x.more:
	case err == nil:
		row := make([]any, len(dest))
		for i, v := range dest {
			if b, ok := v.([]byte); ok {
				v = slices.Clone(b)
			}
			row[i] = v
		}
		x.out.Rows = append(x.out.Rows, row)
	case err == io.EOF:
		x.out.All = true
	default:
		x.err = err
	}
	return err
}

func (x *rows) Close() error {
	err := x.Rows.Close()
	if !x.done {
		x.done = true
		if x.err == nil && err != nil {
			x.err = err
		}
		x.r.end(x.err, &x.out)
	}
	return err
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
		return c.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}

func (x *rows) ColumnTypeDatabaseTypeName(i int) string {
	if c, ok := x.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return c.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

func (x *rows) ColumnTypeLength(i int) (int64, bool) {
	if c, ok := x.Rows.(driver.RowsColumnTypeLength); ok {
		return c.ColumnTypeLength(i)
	}
	return 0, false
}

func (x *rows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if c, is := x.Rows.(driver.RowsColumnTypeNullable); is {
		return c.ColumnTypeNullable(i)
	}
	return false, false
}

func (x *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if c, is := x.Rows.(driver.RowsColumnTypePrecisionScale); is {
		return c.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}
