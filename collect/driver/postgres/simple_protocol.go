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
		// The library's Result has no columns if it has no rows.
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

// rowOf reads a row in text form. types are type numbers of the catalogue: int8, int2, int4, oid, and char(n), from
// which it removes the padding.
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

// broken reports whether the data caused an error, by the error's class: data, constraints, checks of views, PL/pgSQL.
func broken(err error) bool {
	var p *pgconn.PgError
	return errors.As(err, &p) && len(p.Code) == 5 &&
		slices.Contains([]string{"22", "23", "44", "P0"}, p.Code[:2])
}

// lone says how statements outside of transactions get the same level as transactions.
type lone struct {
	ok  bool
	set string // the session's statement; "": none is needed
}

// findLone finds the setting by trial. It relies on the server's answer about the level in force. With timestamps
// every statement needs a transaction, since timestamps are asked for within one.
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
