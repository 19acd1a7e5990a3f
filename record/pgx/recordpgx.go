// Package recordpgx records a program's transactions (package record) through pgx (v5). A tracer sees begin, commit and
// rollback with their times and outcomes. Statements that go through the tracer's Query, QueryRow and Exec are recorded
// with their reads and writes, identified by PostgreSQL's own row versions: no declaration and no column is needed.
//
//	trace := recordpgx.New(rec)
//	config.ConnConfig.Tracer = trace // of a pgxpool.Config; or pgx.ConnConfig.Tracer
//	…
//	tx, err := pool.Begin(ctx)
//	err = trace.QueryRow(ctx, tx, "SELECT balance FROM accounts WHERE id = $1", 7).Scan(&b)
//	_, err = trace.Exec(ctx, tx, "UPDATE accounts SET balance = $1 WHERE id = $2", b-1, 7)
//	err = tx.Commit(ctx)
//
// A tracer alone can neither see rows nor change a statement. So another statement is recorded only if its table is
// declared and its text says which rows it writes, as in package recordsql. Otherwise it is only counted, as are
// batches, COPY, and statements that are not understood (Stats).
//
// Experimental: this package may still change.
package recordpgx

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"isovet/internal/slice"
	"isovet/internal/sqlstmt"
	"isovet/record"
)

// Table is a table whose rows are recorded.
type Table = sqlstmt.Table

// Stats counts statements on declared tables.
type Stats = sqlstmt.Stats

// Tracer records the transactions on the connections that it traces.
type Tracer struct{ log sqlstmt.Log }

var (
	_ pgx.QueryTracer    = (*Tracer)(nil)
	_ pgx.BatchTracer    = (*Tracer)(nil)
	_ pgx.CopyFromTracer = (*Tracer)(nil)
	_ pgx.PrepareTracer  = (*Tracer)(nil)
)

// New returns a tracer that records the use of tables on rec.
func New(rec *record.Recorder, tables ...Table) *Tracer {
	return &Tracer{log: sqlstmt.Log{Rec: rec, Tables: tables, ByColumn: true, Callers: true}}
}

// Stats counts the statements on declared tables so far, and says why some were not understood.
func (t *Tracer) Stats() Stats { return t.log.Stats() }

// Aborted reports whether an error is the server's answer that a commit had no effect.
func Aborted(err error) bool { return errors.Is(err, pgx.ErrTxCommitRollback) || sqlstmt.Aborted(err) }

// clientKey is the key of the recording session in a connection's custom data, namesKey that of its prepared
// statements.
const clientKey, namesKey = "isovet/record/pgx", "isovet/record/pgx/names"

func (t *Tracer) of(c *pgx.Conn) *sqlstmt.Client {
	data := c.PgConn().CustomData()
	client, ok := data[clientKey].(*sqlstmt.Client)
	if !ok {
		client = t.log.NewClient(func(sql string, args ...any) ([][]string, error) {
			return ask(c.PgConn(), sql, args)
		})
		data[clientKey] = client
	}
	return client
}

// ask queries the database without pgx's cache of statements, which does not change.
func ask(c *pgconn.PgConn, sql string, args []any) ([][]string, error) {
	values := slice.Map(args, func(a any) []byte { return []byte(a.(string)) })
	r := c.ExecParams(context.Background(), sql, values, nil, nil, nil).Read()
	out := slice.Map(r.Rows, func(row [][]byte) []string {
		return slice.Map(row, func(v []byte) string { return string(v) })
	})
	if c.IsClosed() {
		r.Err = driver.ErrBadConn
	}
	return out, r.Err
}

type (
	runningKey  struct{}
	seenKey     struct{}
	explicitKey struct{}
)

// Explicit makes note record the statement that runs with the returned context, instead of parsing it. After the
// statement has succeeded, note is called with its transaction.
func Explicit(ctx context.Context, note func(t *record.Txn) error) context.Context {
	return context.WithValue(ctx, explicitKey{}, note)
}

// begin begins to record a statement that is about to be sent.
func (t *Tracer) begin(ctx context.Context, c *pgx.Conn, p *sqlstmt.Plan, args []any) *sqlstmt.Run {
	note, _ := ctx.Value(explicitKey{}).(func(*record.Txn) error)
	return t.of(c).Start(p, arguments(args), note)
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *Tracer) TraceQueryStart(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	s, ok := ctx.Value(seenKey{}).(*seen)
	ok = ok && (!s.rewrites || slices.Contains(d.Args, any(s))) // else a hook of the pool runs it
	if ok && s.rewrites {                                       // its rewriter begins
		return context.WithValue(ctx, runningKey{}, s)
	}
	if !ok {
		s = &seen{res: sqlstmt.Result{Unseen: true}}
	}
	sql, args := t.named(c, d.SQL), d.Args
	for i, a := range args {
		if names, ok := a.(pgx.NamedArgs); ok {
			sql, args, _ = names.RewriteQuery(ctx, c, sql, args[i+1:]) // it makes no errors
			break
		}
	}
	s.plan = t.of(c).AsItIs(sql)
	s.run = t.begin(ctx, c, s.plan, args)
	return context.WithValue(ctx, runningKey{}, s)
}

// named returns the text of the prepared statement with this name or, if there is none, sql itself.
func (t *Tracer) named(c *pgx.Conn, sql string) string {
	names, _ := c.PgConn().CustomData()[namesKey].(map[string]string)
	if text, ok := names[sql]; ok {
		return text
	}
	return sql
}

// TracePrepareStart implements pgx.PrepareTracer.
func (t *Tracer) TracePrepareStart(ctx context.Context, c *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	data := c.PgConn().CustomData()
	names, ok := data[namesKey].(map[string]string)
	if !ok {
		names = map[string]string{}
		data[namesKey] = names
	}
	if d.Name != "" && d.Name != d.SQL {
		names[d.Name] = d.SQL
	}
	return ctx
}

// TracePrepareEnd implements pgx.PrepareTracer.
func (t *Tracer) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// arguments returns the arguments of a query without pgx's options.
func arguments(args []any) (out []sqlstmt.Arg) {
	for len(args) > 0 {
		switch args[0].(type) {
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			args = args[1:]
			continue
		case pgx.QueryRewriter: // what it makes of them is not known
			return nil
		}
		break
	}
	return append(out, slice.Map(args, func(v any) sqlstmt.Arg { return sqlstmt.Arg{Value: v} })...)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (t *Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryEndData) {
	s, ok := ctx.Value(runningKey{}).(*seen)
	if !ok || s.run == nil {
		return
	}
	s.res.Affected, s.res.Tag = d.CommandTag.RowsAffected(), d.CommandTag.String()
	run := s.run
	s.run = nil
	run.End(d.Err, &s.res)
}

// TraceBatchStart implements pgx.BatchTracer. Statements of a batch are counted, but not recorded.
func (t *Tracer) TraceBatchStart(ctx context.Context, c *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		t.of(c).Miss(t.named(c, q.SQL), "part of a batch: send it alone")
		if t.of(c).Controls(t.named(c, q.SQL)) {
			t.of(c).Lost()
		}
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (t *Tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (t *Tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceCopyFromStart implements pgx.CopyFromTracer. Rows written by COPY are counted, but not recorded.
func (t *Tracer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceCopyFromStartData) context.Context {
	if n := len(d.TableName); n > 0 {
		t.log.Miss("COPY "+d.TableName.Sanitize(), "COPY", true)
	}
	return ctx
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (t *Tracer) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}
