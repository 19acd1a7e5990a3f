package mysql

import (
	"context"
	"database/sql"
	"slices"
	"strconv"

	"isovet/collect/driver"
	"isovet/datasets/workload"
)

type session struct {
	*driver.ColumnsSQL // nil if there are no tables with columns
	c                  *sql.Conn
	run                driver.RowRunner // c, or prepared statements on it
	access             *driver.Accesses
	wide               bool
	get, put, add      string
}

func (s *session) exec(q string, args ...any) error {
	_, err := s.run.ExecContext(context.Background(), q, args...)
	return err
}

func (s *session) Begin() error { return s.exec("begin") }
func (s *session) BeginAs(a workload.Access) error {
	return s.exec(s.access.Or(a, "begin"))
}
func (s *session) Commit() error     { return s.exec("commit") }
func (s *session) Rollback() error   { return s.exec("rollback") }
func (s *session) Savepoint() error  { return s.exec(driver.SavepointSQL) }
func (s *session) RollbackTo() error { return s.exec(driver.RollbackToSQL) }
func (s *session) Close()            { driver.Discard(s.c) }

func (s *session) Get(key int64, lock bool) (driver.Row, bool, error) {
	q := s.get
	if lock {
		q += " for update"
	}
	return driver.ScanRow(s.wide, s.run.QueryRowContext(context.Background(), q, key))
}

func (s *session) Put(key int64, r driver.Row) error {
	return s.exec(s.put, driver.KVArgs(s.wide, key, r)...)
}

func (s *session) Append(key, element int64) error {
	return s.exec(s.add, key, strconv.FormatInt(element, 10))
}

func (s *session) List(dst []int64, key int64) ([]int64, bool, error) {
	return driver.ScanList(dst, s.run.QueryRowContext(context.Background(), "select val from isovet_list where k = ?",
		key))
}

// Autocommit needs no statement, since the session's level applies to all its transactions. It returns false for
// writes if a table has unique indexes: writing a row then takes an insert and an update.
func (s *session) Autocommit(writes bool) (bool, error) {
	return !writes || s.ColumnsSQL == nil ||
		!slices.ContainsFunc(s.Tables, func(t driver.Table) bool { return len(t.Unique) > 0 }), nil
}

// Say runs a statement as text.
func (s *session) Say(statement string) (driver.Answer, error) { return driver.SayOn(s.c, statement) }
