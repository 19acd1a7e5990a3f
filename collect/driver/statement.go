//go:build !offline

package driver

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// Broken reports whether a database refused a statement of the user's for what it would have done to the data: a
// constraint, a value out of its type's range, an error that a trigger raises. The transaction is to be rolled back,
// and would be refused again.
func Broken(err error) bool {
	var p *pgconn.PgError
	if errors.As(err, &p) {
		return len(p.Code) == 5 && slices.Contains([]string{"22", "23", "44", "P0"}, p.Code[:2])
	}
	var m *mysql.MySQLError
	if errors.As(err, &m) {
		return slices.Contains(mysqlBroken, m.Number)
	}
	var s *sqlite.Error
	return errors.As(err, &s) && s.Code()&0xff == 19 // SQLITE_CONSTRAINT
}

// Code is the code that a database gives an error: an SQLSTATE of PostgreSQL's protocol, the number of MySQL's,
// SQLite's extended code, etcd's; "": it gives none.
func Code(err error) string {
	var m *mysql.MySQLError
	var s *sqlite.Error
	var e *etcdError
	var state interface{ SQLState() string } // pgconn's, and those of other libraries
	switch {
	case errors.As(err, &m):
		return strconv.Itoa(int(m.Number))
	case errors.As(err, &s):
		return strconv.Itoa(s.Code())
	case errors.As(err, &e):
		return strconv.Itoa(e.Code)
	case errors.As(err, &state):
		return state.SQLState()
	}
	return ""
}

// mysqlBroken are the numbers for Broken: null, duplicate key, foreign keys, checks, values out of range or too long,
// SIGNAL.
var mysqlBroken = []uint16{1048, 1062, 1216, 1217, 1264, 1364, 1365, 1366, 1406, 1451, 1452, 1644, 1690, 3819,
	4025}

// Say runs a statement by the simple protocol.
func (s *postgresSession) Say(statement string) (Answer, error) {
	results := s.c.Exec(context.Background(), statement)
	var a Answer
	for results.NextResult() {
		r := results.ResultReader()
		a = Answer{}
		// The library's Result has no columns where it has no rows.
		var types []uint32
		for _, f := range r.FieldDescriptions() {
			a.Columns, types = append(a.Columns, f.Name), append(types, f.DataTypeOID)
		}
		for r.NextRow() {
			a.Rows = append(a.Rows, postgresRow(r.Values(), types))
		}
		tag, err := r.Close()
		if err != nil {
			return a, errors.Join(err, results.Close())
		}
		a.Affected = tag.RowsAffected()
	}
	return a, results.Close()
}

// postgresRow reads a row in text form; the types are the catalogue's: int8, int2, int4 and oid, and char(n), which is
// filled up with blanks that mean nothing.
func postgresRow(raw [][]byte, types []uint32) []any {
	row := make([]any, len(raw))
	for i, b := range raw {
		if b == nil {
			continue
		}
		if types[i] == 1042 {
			b = bytes.TrimRight(b, " ")
		}
		row[i] = plain(bytes.Clone(b), slices.Contains([]uint32{20, 21, 23, 26}, types[i]))
	}
	return row
}

// Say runs a statement as text.
func (s *mysqlSession) Say(statement string) (Answer, error) { return sayOn(s.c, statement) }

// Say runs a statement as text.
func (x *sqliteSession) Say(statement string) (Answer, error) { return sayOn(x.c, statement) }
