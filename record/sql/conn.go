package recordsql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"isovet/internal/slice"
	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
	"isovet/record"
)

// conn is a connection. It is a session of the history. database/sql uses it from one goroutine at a time.
type conn struct {
	c    *sqlstmt.Client
	in   driver.Conn
	open *rows // the last that were returned
}

// start tells what the program has read so far, before it sends another statement. A note waits for the end.
func (c *conn) start(p *sqlstmt.Plan, args []sqlstmt.Arg, note func(*record.Txn) error) *sqlstmt.Run {
	if c.open != nil {
		c.open.tell()
	}
	return c.c.Start(p, args, note)
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	plan, err := c.c.Planned(query)
	if err != nil {
		return nil, err
	}
	in, err := c.prepare(ctx, plan.Text)
	if err != nil {
		c.c.Refused(err)
		return nil, err
	}
	return &stmt{c: c, in: in, plan: plan}, nil
}

func (c *conn) prepare(ctx context.Context, query string) (driver.Stmt, error) {
	if p, ok := c.in.(driver.ConnPrepareContext); ok {
		return p.PrepareContext(ctx, query)
	}
	return c.in.Prepare(query)
}

// ask queries the database on this connection.
func (c *conn) ask(query string, args ...any) ([][]string, error) {
	ctx := context.Background()
	named := make([]driver.NamedValue, len(args))
	for i, a := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	var in driver.Rows
	err := driver.ErrSkip
	if q, ok := c.in.(driver.QueryerContext); ok {
		in, err = q.QueryContext(ctx, query, named)
	}
	if errors.Is(err, driver.ErrSkip) {
		var st driver.Stmt
		if st, err = c.prepare(ctx, query); err != nil {
			return nil, err
		}
		defer st.Close()
		in, err = (&stmt{c: c, in: st}).query(ctx, named)
	}
	if err != nil {
		return nil, err
	}
	var out [][]string
	for {
		row := make([]driver.Value, len(in.Columns()))
		if err := in.Next(row); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, errors.Join(err, in.Close())
		}
		out = append(out, slice.Map(row, func(v driver.Value) string {
			if b, ok := v.([]byte); ok {
				return string(b)
			}
			s, _ := v.(string)
			return s
		}))
	}
}

func (c *conn) Close() error { return cmp.Or(c.in.Close(), c.c.Close()) }

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	name := ""
	if l := sql.IsolationLevel(o.Isolation); l != sql.LevelDefault {
		name = strings.ReplaceAll(strings.ToLower(l.String()), " ", "-")
	}
	r := c.start(sqlstmt.Control(sqltext.Begin, name), nil, nil)
	var in driver.Tx
	var err error
	switch b, ok := c.in.(driver.ConnBeginTx); {
	case ok:
		in, err = b.BeginTx(ctx, o)
	case o != driver.TxOptions{}:
		err = errors.New("recordsql: the driver has no isolation levels and no read-only transactions")
	default:
		//lint:ignore SA1019 for drivers that have nothing else
		in, err = c.in.Begin()
	}
	r.End(err, &sqlstmt.Result{})
	if err != nil {
		return nil, err
	}
	return &tx{c, in}, nil
}

type tx struct {
	c  *conn
	in driver.Tx
}

func (x *tx) Commit() error { return x.end(sqltext.Commit, x.in.Commit) }

func (x *tx) Rollback() error { return x.end(sqltext.Rollback, x.in.Rollback) }

func (x *tx) end(kind sqltext.Kind, do func() error) error {
	r := x.c.start(sqlstmt.Control(kind, ""), nil, nil)
	err := do()
	r.End(err, &sqlstmt.Result{})
	return err
}

func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.in.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *conn) ResetSession(ctx context.Context) error {
	if r, ok := c.in.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	v, ok := c.in.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if k, ok := c.in.(driver.NamedValueChecker); ok {
		return k.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	in, ok := c.in.(driver.ExecerContext)
	q, asks := c.in.(driver.QueryerContext)
	plan, err := c.c.Planned(query)
	if err == nil && (!ok || plan.Rewritten() && !asks) {
		err = driver.ErrSkip // it is prepared
	}
	if err != nil {
		return nil, err
	}
	return c.exec(ctx, plan, args, func() (driver.Result, error) { return in.ExecContext(ctx, plan.Text, args) },
		func() (driver.Rows, error) { return q.QueryContext(ctx, plan.Text, args) })
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if in, ok := c.in.(driver.QueryerContext); ok {
		plan, err := c.c.Planned(query)
		if err != nil {
			return nil, err
		}
		return c.query(ctx, plan, args, func() (driver.Rows, error) { return in.QueryContext(ctx, plan.Text, args) })
	}
	return nil, driver.ErrSkip // it is prepared
}

func bare(args []driver.NamedValue) []driver.Value {
	return slice.Map(args, func(a driver.NamedValue) driver.Value { return a.Value })
}

func argsOf(args []driver.NamedValue) []sqlstmt.Arg {
	return slice.Map(args, func(a driver.NamedValue) sqlstmt.Arg { return sqlstmt.Arg{Name: a.Name, Value: a.Value} })
}

type stmt struct {
	c    *conn
	in   driver.Stmt
	plan *sqlstmt.Plan
}

func (s *stmt) Close() error  { return s.in.Close() }
func (s *stmt) NumInput() int { return s.in.NumInput() }

func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if k, ok := s.in.(driver.NamedValueChecker); ok {
		return k.CheckNamedValue(v)
	}
	return s.c.CheckNamedValue(v)
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.exec(ctx, s.plan, args, func() (driver.Result, error) {
		if in, ok := s.in.(driver.StmtExecContext); ok {
			return in.ExecContext(ctx, args)
		}
		//lint:ignore SA1019 for drivers that have nothing else
		return s.in.Exec(bare(args))
	}, func() (driver.Rows, error) { return s.query(ctx, args) })
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(ctx, s.plan, args, func() (driver.Rows, error) { return s.query(ctx, args) })
}

func (s *stmt) query(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if in, ok := s.in.(driver.StmtQueryContext); ok {
		return in.QueryContext(ctx, args)
	}
	//lint:ignore SA1019 for drivers that have nothing else
	return s.in.Query(bare(args))
}
