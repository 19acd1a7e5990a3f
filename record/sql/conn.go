package recordsql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	"isovet/internal/sqlstmt"
	"isovet/record"
)

// conn is a connection, which is a session of the history's. database/sql uses it from one goroutine at a time.
type conn struct {
	l  *sqlstmt.Log
	in driver.Conn
	s  *record.Session
	t  *record.Txn // that has begun and not ended; nil: none
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	var in driver.Stmt
	var err error
	if p, ok := c.in.(driver.ConnPrepareContext); ok {
		in, err = p.PrepareContext(ctx, query)
	} else {
		in, err = c.in.Prepare(query)
	}
	if err != nil {
		return nil, err
	}
	return &stmt{c: c, in: in, query: query}, nil
}

func (c *conn) Close() error { return errors.Join(c.in.Close(), c.s.Close()) }

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	name := ""
	if l := sql.IsolationLevel(o.Isolation); l != sql.LevelDefault {
		name = strings.ReplaceAll(strings.ToLower(l.String()), " ", "-")
	}
	t := c.s.Begin(name)
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
	if err != nil {
		return nil, errors.Join(err, t.Abort(nil))
	}
	c.t = t
	return &tx{c, in}, nil
}

type tx struct {
	c  *conn
	in driver.Tx
}

func (x *tx) Commit() error { return x.c.commit(x.in.Commit) }

func (x *tx) Rollback() error {
	t := x.c.t
	x.c.t = nil
	if t == nil {
		return x.in.Rollback()
	}
	return noted(t.Abort(x.in.Rollback))
}

// commit runs a commit and records its outcome.
func (c *conn) commit(do func() error) error {
	t := c.t
	c.t = nil
	if t == nil {
		return do()
	}
	if err := t.Committing(); err != nil {
		return errors.Join(do(), err)
	}
	err := do()
	switch {
	case err == nil:
		_ = t.Commit(nil) // the recorder keeps what goes wrong, as below
	case Aborted(err):
		_ = t.Abort(nil)
	default:
		_ = t.Unknown()
	}
	return err
}

// noted is an error of the database's; what could not be recorded is the recorder's.
func noted(err error) error {
	if j, ok := err.(interface{ Unwrap() []error }); ok && len(j.Unwrap()) > 0 {
		return j.Unwrap()[0]
	}
	return err
}

func (c *conn) Ping(ctx context.Context) error {
	if p, ok := c.in.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

func (c *conn) ResetSession(ctx context.Context) error {
	if c.t != nil { // begun with a statement, and left
		_ = c.t.Unknown()
		c.t = nil
	}
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
	if in, ok := c.in.(driver.ExecerContext); ok {
		return c.exec(ctx, query, args, func() (driver.Result, error) { return in.ExecContext(ctx, query, args) })
	}
	return nil, driver.ErrSkip // it is prepared
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if in, ok := c.in.(driver.QueryerContext); ok {
		return c.query(ctx, query, args, func() (driver.Rows, error) { return in.QueryContext(ctx, query, args) })
	}
	return nil, driver.ErrSkip // it is prepared
}

func bare(args []driver.NamedValue) []driver.Value {
	out := make([]driver.Value, len(args))
	for i, a := range args {
		out[i] = a.Value
	}
	return out
}

func argsOf(args []driver.NamedValue) []sqlstmt.Arg {
	out := make([]sqlstmt.Arg, len(args))
	for i, a := range args {
		out[i] = sqlstmt.Arg{Name: a.Name, Value: a.Value}
	}
	return out
}

// stmt is a prepared statement.
type stmt struct {
	c     *conn
	in    driver.Stmt
	query string
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
	return s.c.exec(ctx, s.query, args, func() (driver.Result, error) {
		if in, ok := s.in.(driver.StmtExecContext); ok {
			return in.ExecContext(ctx, args)
		}
		//lint:ignore SA1019 for drivers that have nothing else
		return s.in.Exec(bare(args))
	})
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(ctx, s.query, args, func() (driver.Rows, error) {
		if in, ok := s.in.(driver.StmtQueryContext); ok {
			return in.QueryContext(ctx, args)
		}
		//lint:ignore SA1019 for drivers that have nothing else
		return s.in.Query(bare(args))
	})
}
