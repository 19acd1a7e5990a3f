package recordpgx

import (
	"cmp"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"isovet/internal/sqlstmt"
)

// Querier runs queries: a pgx.Tx, a pgx.Conn or a pgxpool.Pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// seen is a running statement, with the rows that it has returned so far.
type seen struct {
	t        *Tracer
	plan     *sqlstmt.Plan
	run      *sqlstmt.Run
	rewrites bool              // RewriteQuery will be called
	refused  error             // the database's, before the statement was sent
	inner    pgx.QueryRewriter // the program's
	res      sqlstmt.Result
}

// RewriteQuery makes the statement also return the versions of its rows, if the program cannot notice.
func (s *seen) RewriteQuery(ctx context.Context, c *pgx.Conn, sql string, args []any) (string, []any, error) {
	if s.inner != nil {
		var err error
		if sql, args, err = s.inner.RewriteQuery(ctx, c, sql, args); err != nil {
			return sql, args, err
		}
	}
	text := s.t.named(c, sql)
	var err error
	s.plan, err = s.t.of(c).Planned(text)
	if err == nil && text != sql && s.plan.Rewritten() { // one that was prepared by name: so is what is sent instead
		_, err = c.Prepare(ctx, s.plan.Text, s.plan.Text)
		s.t.of(c).Refused(err)
	}
	if err != nil {
		s.refused = err
		if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) {
			s.refused = pg
		}
		return sql, args, err
	}
	s.run = s.t.begin(ctx, c, s.plan, args)
	if text != sql && !s.plan.Rewritten() {
		return sql, args, nil
	}
	return s.plan.Text, args, nil
}

// Query runs a query on q, and records the rows as they are read.
func (t *Tracer) Query(ctx context.Context, q Querier, sql string, args ...any) (pgx.Rows, error) {
	s := &seen{t: t, rewrites: true}
	var options []any
	for len(args) > 0 {
		switch a := args[0].(type) {
		case pgx.QueryResultFormats:
			s.rewrites = s.rewrites && len(a) < 2 // by position
			options = append(options, a)
		case pgx.QueryResultFormatsByOID, pgx.QueryExecMode:
			options = append(options, a)
		case pgx.QueryRewriter:
			s.inner = a
		default:
			goto rest
		}
		args = args[1:]
	}
rest:
	switch {
	case s.rewrites:
		options = append(options, s)
	case s.inner != nil:
		options = append(options, s.inner)
	}
	r, err := q.Query(context.WithValue(ctx, seenKey{}, s), sql, append(options, args...)...)
	if r == nil {
		return r, err
	}
	return &rows{r, s}, cmp.Or(s.refused, err)
}

// QueryRow runs a query for at most one row on q, and records it.
func (t *Tracer) QueryRow(ctx context.Context, q Querier, sql string, args ...any) pgx.Row {
	r, err := t.Query(ctx, q, sql, args...)
	return &row{r, err}
}

// Exec runs a statement on q for a program that wants no rows, and records it. Several statements in one text are only
// counted.
func (t *Tracer) Exec(ctx context.Context, q Querier, sql string, args ...any) (pgconn.CommandTag, error) {
	if x, ok := q.(interface {
		Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	}); ok && len(args) == 0 && t.log.Several(sql) {
		return x.Exec(ctx, sql)
	}
	r, err := t.Query(ctx, q, sql, args...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	for r.Next() {
	}
	r.Close()
	return r.CommandTag(), r.Err()
}

// rows passes the rows on to the program, without the added columns, and records them.
type rows struct {
	pgx.Rows
	s *seen
}

func (r *rows) hidden() int {
	if r.s.plan == nil {
		return 0
	}
	return r.s.plan.Hidden
}

// FieldDescriptions returns the columns that the program asked for.
func (r *rows) FieldDescriptions() []pgconn.FieldDescription {
	f := r.Rows.FieldDescriptions()
	return f[min(r.hidden(), len(f)):]
}

// RawValues returns the values of these columns.
func (r *rows) RawValues() [][]byte {
	v := r.Rows.RawValues()
	return v[min(r.hidden(), len(v)):]
}

// Values returns the values of these columns.
func (r *rows) Values() ([]any, error) {
	v, err := r.Rows.Values()
	return v[min(r.hidden(), len(v)):], err
}

// Scan reads the values of these columns.
func (r *rows) Scan(dest ...any) error {
	if len(dest) == 1 {
		if s, ok := dest[0].(pgx.RowScanner); ok {
			return s.ScanRow(r)
		}
	}
	return r.told(r.Rows.Scan(append(make([]any, r.hidden()), dest...)...))
}

// Err returns the error that ended the rows.
func (r *rows) Err() error { return r.told(r.Rows.Err()) }

// told numbers the column of an error as the program does.
func (r *rows) told(err error) error {
	if e, ok := err.(pgx.ScanArgError); ok {
		e.ColumnIndex -= r.hidden()
		return e
	}
	return cmp.Or(r.s.refused, err)
}

// Next reads a row. With the last row pgx may end the query inside of this call, so that Next says before that all
// rows were seen.
func (r *rows) Next() bool {
	if r.s.res.Columns == nil {
		for _, f := range r.FieldDescriptions() {
			r.s.res.Columns = append(r.s.res.Columns, f.Name)
		}
	}
	before := r.s.res.All
again:
	r.s.res.All = true
	if !r.Rows.Next() {
		return false
	}
	r.s.res.All = before
	n := r.hidden()
	if n == 0 {
		if v, err := r.Rows.Values(); err == nil {
			r.s.res.Add(v)
		}
		return true
	}
	row := make([]any, n)
	fields := r.Rows.FieldDescriptions()
	for i, v := range r.Rows.RawValues()[:n] {
		row[i] = sqlstmt.Hidden(v, fields[i].Format)
	}
	r.s.res.Add(row)
	if r.s.plan.Drain() && !r.s.plan.Returns() { // the program gets no row
		goto again
	}
	return true
}

// Close reads the remaining rows of a statement that writes.
func (r *rows) Close() {
	if r.s.plan != nil && r.s.plan.Drain() {
		for r.Next() {
		}
	}
	r.Rows.Close()
}

// row is the first row of rows.
type row struct {
	rows pgx.Rows
	err  error
}

func (r *row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		return cmp.Or(r.rows.Err(), pgx.ErrNoRows)
	}
	err := r.rows.Scan(dest...)
	r.rows.Close()
	return cmp.Or(err, r.rows.Err())
}
