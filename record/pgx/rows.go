package recordpgx

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Querier is what runs queries: a pgx.Tx, a pgx.Conn, a pgxpool.Pool.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// seen are the rows that a query has returned so far.
type seen struct {
	columns []string
	rows    [][]any
	all     bool
}

// Query runs a query on q, and records the rows as they are read.
func (t *Tracer) Query(ctx context.Context, q Querier, sql string, args ...any) (pgx.Rows, error) {
	s := &seen{}
	r, err := q.Query(context.WithValue(ctx, seenKey{}, s), sql, args...)
	if r == nil {
		return r, err
	}
	return &rows{r, s}, err
}

// QueryRow runs a query on q that returns at most one row, which it records.
func (t *Tracer) QueryRow(ctx context.Context, q Querier, sql string, args ...any) pgx.Row {
	r, err := t.Query(ctx, q, sql, args...)
	return &row{r, err}
}

// rows are passed on, and looked at.
type rows struct {
	pgx.Rows
	s *seen
}

// Next reads a row. What it holds is seen before the query counts as ended, which it may be with the last.
func (r *rows) Next() bool {
	if r.s.columns == nil {
		for _, f := range r.FieldDescriptions() {
			r.s.columns = append(r.s.columns, f.Name)
		}
	}
	// pgx ends the trace when it has read the last row, inside of Next: whether that is so is known before.
	before := r.s.all
	r.s.all = true
	if !r.Rows.Next() {
		return false
	}
	r.s.all = before
	if v, err := r.Values(); err == nil {
		r.s.rows = append(r.s.rows, v)
	}
	return true
}

// row is the first of rows.
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
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
