package postgres

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/collect/driver"
)

// Say runs a statement by the simple protocol.
func (s *session) Say(statement string) (driver.Answer, error) {
	results := s.c.Exec(context.Background(), statement)
	var a driver.Answer
	for results.NextResult() {
		r := results.ResultReader()
		a = driver.Answer{}
		// The library's Result has no columns where it has no rows.
		var types []uint32
		for _, f := range r.FieldDescriptions() {
			a.Columns, types = append(a.Columns, f.Name), append(types, f.DataTypeOID)
		}
		for r.NextRow() {
			a.Rows = append(a.Rows, rowOf(r.Values(), types))
		}
		tag, err := r.Close()
		if err != nil {
			return a, errors.Join(err, results.Close())
		}
		a.Affected = tag.RowsAffected()
	}
	return a, results.Close()
}

// rowOf reads a row in text form; the types are the catalogue's: int8, int2, int4 and oid, and char(n), which is
// filled up with blanks that mean nothing.
func rowOf(raw [][]byte, types []uint32) []any {
	row := make([]any, len(raw))
	for i, b := range raw {
		if b == nil {
			continue
		}
		if types[i] == 1042 {
			b = bytes.TrimRight(b, " ")
		}
		row[i] = driver.Plain(bytes.Clone(b), slices.Contains([]uint32{20, 21, 23, 26}, types[i]))
	}
	return row
}

// broken uses the error's class: data, constraints, the checks of views, PL/pgSQL's own.
func broken(err error) bool {
	var p *pgconn.PgError
	return errors.As(err, &p) && len(p.Code) == 5 &&
		slices.Contains([]string{"22", "23", "44", "P0"}, p.Code[:2])
}

// lone is what a server that speaks PostgreSQL's protocol wants to be told, so that statements outside of transactions
// have the level of the others.
type lone struct {
	ok  bool
	set string // of the session; "": nothing
}

// findLone tries it. Without a word from the server about the level in force, nobody can say that it is the right one.
// Timestamps are asked for within transactions.
func (p *server) findLone(c *pgconn.PgConn) error {
	p.lone = lone{}
	if p.o.Timestamps {
		return nil
	}
	set := ""
	if p.level != "default" {
		set = "set default_transaction_isolation = '" + p.level + "'"
		if err := run(c, set); err != nil {
			if refused(err) {
				return nil
			}
			return err
		}
	}
	v, err := ask(c, "show transaction_isolation")
	if err != nil && !refused(err) {
		return err
	}
	p.lone = lone{err == nil && v == p.info.Isolation, set}
	return nil
}

func (s *session) Autocommit(writes bool) (bool, error) {
	if !s.p.lone.ok || writes && s.p.upsert == driver.LookFirst {
		return false, nil
	}
	if s.told || s.p.lone.set == "" {
		return true, nil
	}
	err := run(s.c, s.p.lone.set)
	s.told = err == nil
	return s.told, err
}
