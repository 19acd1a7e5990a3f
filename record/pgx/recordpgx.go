// Package recordpgx is a tracer of pgx (v5) that records what the program's transactions do (package record): begin,
// commit and rollback with their times and outcomes, what simple statements wrote, and, for queries that go through its
// Query and QueryRow, what they read.
//
//	trace := recordpgx.New(rec, recordpgx.Table{Name: "accounts", Key: "id", Version: "version"})
//	config.ConnConfig.Tracer = trace // of a pgxpool.Config; or pgx.ConnConfig.Tracer
//	…
//	tx, err := pool.Begin(ctx)
//	err = trace.QueryRow(ctx, tx, "SELECT version FROM accounts WHERE id = $1", 7).Scan(&v) // a tracer sees no rows
//	_, err = tx.Exec(ctx, "UPDATE accounts SET version = $1 WHERE id = $2", v+1, 7)
//	err = tx.Commit(ctx)
//
// Which statements are understood, what becomes of the others, sessions and keys are as in package recordsql. A query
// of a declared table whose rows are not seen, since it did not go through Query or QueryRow, is counted as not
// understood, and is an error of the recording where it writes. Batches and COPY are counted too, and are such errors.
//
// Experimental: this package may still change.
package recordpgx

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"isovet/internal/sqlstmt"
	"isovet/record"
)

// Table is a table whose rows are recorded.
type Table = sqlstmt.Table

// Stats counts statements on declared tables.
type Stats = sqlstmt.Stats

// Tracer records what goes through the connections that it traces.
type Tracer struct{ log sqlstmt.Log }

var (
	_ pgx.QueryTracer    = (*Tracer)(nil)
	_ pgx.BatchTracer    = (*Tracer)(nil)
	_ pgx.CopyFromTracer = (*Tracer)(nil)
)

// New returns a tracer that records on rec what happens to the rows of tables.
func New(rec *record.Recorder, tables ...Table) *Tracer {
	return &Tracer{log: sqlstmt.Log{Rec: rec, Tables: tables}}
}

// Stats counts the statements on declared tables so far, and says why some were not understood.
func (t *Tracer) Stats() Stats { return t.log.Stats() }

// Aborted reports whether an error is the server's word that a commit has had no effect.
func Aborted(err error) bool { return errors.Is(err, pgx.ErrTxCommitRollback) || sqlstmt.Aborted(err) }

// state is what is known of a connection, which runs one statement at a time.
type state struct {
	s *record.Session
	t *record.Txn // that has begun and not ended; nil: none
}

// stateKey is its place in the connection's own data.
const stateKey = "isovet/record/pgx"

func (t *Tracer) of(c *pgx.Conn) *state {
	data := c.PgConn().CustomData()
	st, ok := data[stateKey].(*state)
	if !ok {
		st = &state{s: t.log.Rec.Session()}
		data[stateKey] = st
	}
	return st
}

// running is a statement that is being run.
type running struct {
	st    *sqlstmt.Stmt
	sql   string
	args  []sqlstmt.Arg
	t     *record.Txn
	alone bool
	note  func(*record.Txn) error
	seen  *seen
}

type (
	runningKey  struct{}
	seenKey     struct{}
	explicitKey struct{}
)

// Explicit has a statement that runs with the context recorded by note instead of being parsed: it is called once the
// statement has succeeded, with the transaction that it was part of.
func Explicit(ctx context.Context, note func(t *record.Txn) error) context.Context {
	return context.WithValue(ctx, explicitKey{}, note)
}

// TraceQueryStart is pgx's.
func (t *Tracer) TraceQueryStart(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r := &running{st: t.log.Parse(d.SQL), sql: d.SQL}
	r.note, _ = ctx.Value(explicitKey{}).(func(*record.Txn) error)
	r.seen, _ = ctx.Value(seenKey{}).(*seen)
	s := t.of(c)
	r.t = s.t
	switch r.st.Verb {
	case sqlstmt.Begin:
		if s.t == nil {
			s.t = s.s.Begin(sqlstmt.Name(d.SQL))
			r.t = s.t
		}
	case sqlstmt.Commit:
		if s.t != nil {
			_ = s.t.Committing() // the recorder keeps what goes wrong, as below
		}
	case sqlstmt.Rollback:
	default:
		r.args = arguments(d.Args)
		if r.t == nil && (r.st.Table != nil || r.note != nil) {
			r.t, r.alone = s.s.Begin(""), true
		}
	}
	return context.WithValue(ctx, runningKey{}, r)
}

// arguments are those of a query, without its options.
func arguments(args []any) (out []sqlstmt.Arg) {
	for len(args) > 0 {
		switch a := args[0].(type) {
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			args = args[1:]
			continue
		case pgx.NamedArgs:
			for k, v := range a {
				out = append(out, sqlstmt.Arg{Name: k, Value: v})
			}
			return out
		}
		break
	}
	for _, v := range args {
		out = append(out, sqlstmt.Arg{Value: v})
	}
	return out
}

// TraceQueryEnd is pgx's.
func (t *Tracer) TraceQueryEnd(ctx context.Context, c *pgx.Conn, d pgx.TraceQueryEndData) {
	r, ok := ctx.Value(runningKey{}).(*running)
	if !ok {
		return
	}
	s := t.of(c)
	switch r.st.Verb {
	case sqlstmt.Begin:
		if d.Err != nil && s.t != nil {
			_ = s.t.Abort(nil)
			s.t = nil
		}
	case sqlstmt.Commit:
		if s.t != nil {
			switch {
			case d.Err == nil && d.CommandTag.String() == "ROLLBACK": // a statement of it had failed
				_ = s.t.Abort(nil)
			default:
				end(s.t, d.Err, true)
			}
			s.t = nil
		}
	case sqlstmt.Rollback:
		if s.t != nil {
			_ = s.t.Abort(nil)
			s.t = nil
		}
	default:
		t.ended(r, d.CommandTag, d.Err)
	}
}

// end records how a transaction ended.
func end(t *record.Txn, err error, wrote bool) {
	switch {
	case err == nil:
		_ = t.Commit(nil)
	case Aborted(err) || !wrote:
		_ = t.Abort(nil)
	default:
		_ = t.Unknown()
	}
}

// ended records what a statement did.
func (t *Tracer) ended(r *running, tag pgconn.CommandTag, err error) {
	if r.t == nil {
		return
	}
	res := &sqlstmt.Result{Affected: tag.RowsAffected(), Unseen: r.seen == nil}
	if r.seen != nil {
		res.Columns, res.Rows, res.All = r.seen.columns, r.seen.rows, r.seen.all
	}
	switch {
	case err == nil && r.note != nil:
		_ = r.note(r.t)
	case err == nil:
		t.log.Done(r.t, r.st, r.sql, r.args, res)
	case r.st.Writes && !Aborted(err): // others may see it
		res.Unclear = true
		t.log.Done(r.t, r.st, r.sql, r.args, res)
	}
	if r.alone {
		end(r.t, err, r.st.Writes || r.note != nil)
	}
}

// TraceBatchStart is pgx's. Statements of a batch are not looked into.
func (t *Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		if st := t.log.Parse(q.SQL); st.Table != nil {
			t.log.Missed(q.SQL, st.Writes, "part of a batch")
		}
	}
	return ctx
}

// TraceBatchQuery is pgx's.
func (t *Tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is pgx's.
func (t *Tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceCopyFromStart is pgx's.
func (t *Tracer) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceCopyFromStartData) context.Context {
	for _, table := range t.log.Tables {
		if n := len(d.TableName); n > 0 && d.TableName[n-1] == table.Name {
			t.log.Missed("COPY "+table.Name, true, "COPY")
		}
	}
	return ctx
}

// TraceCopyFromEnd is pgx's.
func (t *Tracer) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}
