package driver

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"isovet/internal/slice"
)

// Lift replaces the numbers in one of isovet's statements by parameters: "?", or "$1" and so on. It leaves text in
// quotes alone. A sign belongs to a number unless an operand precedes it.
func Lift(q string, numbered bool) (text string, numbers []int64) {
	var b strings.Builder
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	word := func(c byte) bool { return c == '_' || digit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
	operand := false // the last token was an operand
	for i := 0; i < len(q); {
		c, j := q[i], i+1
		switch {
		case digit(c), c == '-' && !operand && j < len(q) && digit(q[j]):
			for j < len(q) && digit(q[j]) {
				j++
			}
			n, err := strconv.ParseInt(q[i:j], 10, 64)
			if operand = true; err != nil {
				break
			}
			numbers = append(numbers, n)
			b.WriteString(parameter(len(numbers), numbered))
			i = j
			continue
		case c == '\'':
			for j < len(q) && q[j] != '\'' {
				j++
			}
			j = min(j+1, len(q))
			operand = true
		case c == '@' || word(c):
			for j < len(q) && word(q[j]) {
				j++
			}
			operand = true
		case c == ')':
			operand = true
		case c != ' ':
			operand = false
		}
		b.WriteString(q[i:j])
		i = j
	}
	return b.String(), numbers
}

func parameter(n int, numbered bool) string {
	if numbered {
		return "$" + strconv.Itoa(n)
	}
	return "?"
}

// MostPrepared bounds the prepared statements of a session. Statements with lists of keys differ in length, so that
// there are many.
const MostPrepared = 100

// RowRunner is a runner that returns rows one by one.
type RowRunner interface {
	runner
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Preparing makes the server prepare each statement with values once.
type Preparing struct {
	C     *sql.Conn
	cache map[string]*sql.Stmt
}

// statement returns a prepared statement and its values. It returns nil, to send the text, if the statement has no
// values or too many statements are prepared.
func (p *Preparing) statement(ctx context.Context, q string, args []any) (*sql.Stmt, []any, error) {
	if len(args) == 0 {
		var numbers []int64
		if q, numbers = Lift(q, false); len(numbers) == 0 {
			return nil, nil, nil
		}
		for _, n := range numbers {
			args = append(args, n)
		}
	}
	if st := p.cache[q]; st != nil {
		return st, args, nil
	}
	if len(p.cache) == MostPrepared {
		return nil, nil, nil
	}
	st, err := p.C.PrepareContext(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	slice.MakeMap(&p.cache)
	p.cache[q] = st
	return st, args, nil
}

func (p *Preparing) ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error) {
	switch st, values, err := p.statement(ctx, q, args); {
	case err != nil:
		return nil, err
	case st != nil:
		return st.ExecContext(ctx, values...)
	}
	return p.C.ExecContext(ctx, q, args...)
}

func (p *Preparing) QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error) {
	switch st, values, err := p.statement(ctx, q, args); {
	case err != nil:
		return nil, err
	case st != nil:
		return st.QueryContext(ctx, values...)
	}
	return p.C.QueryContext(ctx, q, args...)
}

// QueryRowContext runs a statement with parameters. If it cannot be prepared, the row has the error.
func (p *Preparing) QueryRowContext(ctx context.Context, q string, args ...any) *sql.Row {
	if st, values, err := p.statement(ctx, q, args); err == nil && st != nil {
		return st.QueryRowContext(ctx, values...)
	}
	return p.C.QueryRowContext(ctx, q, args...)
}
