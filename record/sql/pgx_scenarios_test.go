package recordsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/record"
	"isovet/record/pgx"
	"isovet/record/sql"
)

// opener opens connections of pgx for database/sql, whose statements go through a tracer: all, or each by's first.
type opener struct {
	config *pgx.ConnConfig
	trace  *recordpgx.Tracer // nil: none
	by     int
}

func (o opener) Driver() driver.Driver { return nil }

func (o opener) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, o.config)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, opener: o}, nil
}

type conn struct {
	*pgx.Conn
	opener
	n int // statements so far
}

func (c *conn) Close() error              { return c.Conn.Close(context.Background()) }
func (c *conn) Begin() (driver.Tx, error) { return nil, driver.ErrSkip }

func (c *conn) CheckNamedValue(*driver.NamedValue) error { return nil }

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	c.n++
	name := fmt.Sprint("s", c.n)
	_, err := c.Conn.Prepare(context.Background(), name, query)
	return &stmt{c, name}, err
}

// traced reports whether the next statement goes through the tracer's functions.
func (c *conn) traced() bool {
	c.n++
	return c.trace != nil && c.n%c.by == 0
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	var in pgx.Rows
	var err error
	if c.traced() {
		in, err = c.trace.Query(ctx, c.Conn, query, values(args)...)
	} else {
		in, err = c.Conn.Query(ctx, query, values(args)...)
	}
	if err != nil {
		return nil, err
	}
	return rows{in}, nil
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	var tag pgconn.CommandTag
	var err error
	if c.traced() {
		tag, err = c.trace.Exec(ctx, c.Conn, query, values(args)...)
	} else {
		tag, err = c.Conn.Exec(ctx, query, values(args)...)
	}
	return driver.RowsAffected(tag.RowsAffected()), err
}

func values(args []driver.NamedValue) []any {
	return slice.Map(args, func(a driver.NamedValue) any { return a.Value })
}

type stmt struct {
	c    *conn
	name string
}

func (s *stmt) Close() error                               { return s.c.Deallocate(context.Background(), s.name) }
func (s *stmt) NumInput() int                              { return -1 }
func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.c.ExecContext(ctx, s.name, args)
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.QueryContext(ctx, s.name, args)
}

type rows struct{ pgx.Rows }

func (r rows) Columns() (out []string) {
	for _, f := range r.FieldDescriptions() {
		if r.Err() == nil { // some drivers forget them
			out = append(out, f.Name)
		}
	}
	return out
}

func (r rows) Close() error { r.Rows.Close(); return r.Err() }

func (r rows) Next(dest []driver.Value) error {
	if !r.Rows.Next() {
		if err := r.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	row, err := r.Values()
	for i, v := range row {
		dest[i] = v
	}
	return err
}

// TestPgxOneClient: scenarios through the tracer's functions, in each of pgx's modes, and where every other statement
// goes by them, so that the tracer sees of the others what they are and not what they return.
func TestPgxOneClient(t *testing.T) {
	url := sqltest.Postgres(t)
	config := must.Get(pgx.ParseConfig(url))(t)
	for by, name := range map[int]string{1: "all", 2: "every other"} {
		t.Run(name, func(t *testing.T) {
			n := 0
			scenarios := sqltest.Scenarios(by)
			for i := range scenarios {
				if by > 1 {
					scenarios[i].Understood = 0
				}
			}
			yes, all := sqltest.OneClient(t, scenarios, func(t *testing.T, rec *record.Recorder) sqltest.Client {
				log := recordpgx.New(rec)
				plain := config.Copy()
				plain.DefaultQueryExecMode = []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement,
					pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
					pgx.QueryExecModeSimpleProtocol}[n%5]
				n++
				recorded := plain.Copy()
				recorded.Tracer = log
				return sqltest.Client{Plain: sql.OpenDB(opener{config: plain}), Stats: log.Stats,
					Recorded: sql.OpenDB(opener{recorded, log, by})}
			})
			t.Logf("%d of %d statements are understood", yes, all)
		})
	}
}

// TestErrors: the program gets the driver's own errors, also behind a first row, with its own numbers of columns. A
// write without RETURNING has no rows for it.
func TestErrors(t *testing.T) {
	config := must.Get(pgx.ParseConfig(sqltest.Postgres(t)))(t)
	rec := record.New(record.Options{})
	db := sql.OpenDB(recordsql.New(rec).Connector(opener{config: config}))
	defer db.Close()
	sqltest.Fresh(t, db, nil)
	_, err := db.Exec("UPDATE accounts SET v = 1 / (id - 2)")
	must.Equal(t, fmt.Sprintf("%T", err), "*pgconn.PgError", "%v", err)
	err = db.QueryRow("UPDATE accounts SET v = 1 / (id - 1) RETURNING v").Scan(new(int))
	must.Equal(t, fmt.Sprintf("%T", err), "*pgconn.PgError", "%v", err)
	must.Equal(t, db.QueryRow("UPDATE accounts SET v = 1").Scan(), sql.ErrNoRows, "recordsql")
	trace := recordpgx.New(rec)
	config.Tracer = trace
	c := must.Get(pgx.ConnectConfig(t.Context(), config))(t)
	defer c.Close(t.Context())
	must.Equal(t, trace.QueryRow(t.Context(), c, "UPDATE accounts SET v = 1").Scan(), pgx.ErrNoRows, "recordpgx")
	err = trace.QueryRow(t.Context(), c, "SELECT name FROM accounts").Scan(new(int))
	must.Equal(t, fmt.Sprint(err), fmt.Sprint(c.QueryRow(t.Context(), "SELECT name FROM accounts").Scan(new(int))), "")
}
