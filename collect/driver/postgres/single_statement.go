package postgres

import (
	"github.com/jackc/pgx/v5/pgconn"

	"isovet/collect/driver"
)

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
