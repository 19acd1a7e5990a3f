// Package sqlite is the driver of SQLite, which runs inside this program.
//
// Experimental: this package may still change.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/internal/filelock"
)

func init() { driver.Register(driver.Scheme{Name: "sqlite", Broken: broken, Code: code}, open) }

type database struct {
	o      driver.Options
	db     *sql.DB
	dir    *filelock.Folder // nil unless the database is a throw-away one
	begin  string
	info   driver.Info
	tables []driver.Table // tables with columns of the last load
	wide   bool           // the last load had wide payloads
}

func open(ctx context.Context, urls []string, iso string, o driver.Options) (_ driver.DB, err error) {
	s := &database{o: o, begin: "begin"}
	if iso == "immediate" {
		s.begin = "begin immediate"
	}
	_, file, _ := strings.Cut(urls[0], ":")
	file, options, _ := strings.Cut(strings.TrimPrefix(file, "//"), "?")
	if file == "" {
		if s.dir, err = filelock.TempFolder("sqlite"); err != nil {
			return nil, err
		}
		file = filepath.Join(s.dir.Path, "db")
	}
	// Only waiting for another session's lock takes long here.
	wait := min(5*time.Second, o.Timeout).Milliseconds()
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(wal)&_pragma=synchronous(off)", file,
		wait)
	if options != "" {
		dsn += "&" + options
	}
	if s.db, err = sql.Open("sqlite", dsn); err != nil {
		return nil, errors.Join(err, s.dir.Remove())
	}
	var version string
	if err := s.db.QueryRowContext(ctx, "select sqlite_version()").Scan(&version); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.dir.Remove())
	}
	s.info = driver.Info{Name: "SQLite " + version, Isolation: "serializable", Nodes: []driver.Node{{Name: "sqlite"}},
		Dialect: "sqlite", Version: version,
		// In a shared cache a session waits for another one's locks as long as they are held.
		Unbounded: strings.Contains(options, "cache=shared"),
		Settings: []driver.Setting{{SQL: fmt.Sprintf("pragma busy_timeout = %d", wait)},
			{SQL: "pragma journal_mode = wal"}, {SQL: "pragma synchronous = off"}}}
	if iso == "immediate" {
		s.info.Isolation = "serializable, begin immediate"
	}
	return s, nil
}

func (s *database) Info() driver.Info { return s.info }
func (s *database) Cut()              {}

// makes returns the statements that make the tables of a load.
func (s *database) makes(d driver.Data) []string {
	return slices.Concat([]string{driver.KVTable(d.Wide, "integer", "text"),
		"create table isovet_list(k integer primary key, val text not null)"},
		driver.CreateTables(d.Tables, "integer", ""))
}

// Statements returns the statements that sessions send.
func (s *database) Statements() *driver.Statements {
	return &driver.Statements{Tables: s.makes(driver.Data{Wide: s.wide, Tables: s.tables}), Begin: s.begin,
		Wide:    s.wide,
		Columns: *s.columns(nil)}
}

// columns returns the access to tables with columns.
func (s *database) columns(ask func(string, func([]int64) error) error) *driver.ColumnsSQL {
	return &driver.ColumnsSQL{Tables: s.tables, Ask: ask, Upsert: driver.OnConflict, Hint: Hint,
		Tells: driver.Telling{Updates: true, Deletes: true}}
}

// Partition does nothing: there is no network.
func (s *database) Partition(int, bool) bool { return false }

func (s *database) Load(ctx context.Context, d driver.Data) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer release(c)
	s.tables, s.wide = d.Tables, d.Wide
	s.info.Settings = slices.DeleteFunc(slices.Clone(s.info.Settings), func(x driver.Setting) bool {
		return x.SQL == foreignKeysOn
	})
	if refers(d.Tables) {
		s.info.Settings = append(s.info.Settings, driver.Setting{SQL: foreignKeysOn})
	}
	for _, q := range slices.Concat(driver.DropTables(), s.makes(d), []string{"begin"}) {
		if _, err := c.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	if err := driver.SQLLoad(driver.ExecOn(ctx, c), d, 500); err != nil {
		return err
	}
	if _, err = c.ExecContext(ctx, "commit"); err != nil {
		return err
	}
	return driver.SetupSQL(&s.o, driver.ExecOn(ctx, c))
}

func (s *database) Close() error {
	var err error
	if s.dir == nil {
		for _, q := range driver.DropTables() {
			_, e := s.db.Exec(q)
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, s.db.Close(), s.dir.Remove())
}

// Classify takes for refusals SQLITE_BUSY and SQLITE_LOCKED in all forms (BUSY_SNAPSHOT means that the snapshot is too
// old for a write), and SQLITE_SCHEMA, which means that the schema changed too often meanwhile.
func (s *database) Classify(err error) driver.Class {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch c := e.Code(); {
		case c&0xff == 5, c&0xff == 6, c&0xff == 17,
			c == 1555, c == 2067: // a dirty read showed that the key or the unique value is free
			return driver.Aborted
		}
	}
	return driver.Fatal
}

func (s *database) Connect(ctx context.Context, _ int) (driver.Session, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = s.lookAnew(ctx, c)
	if err == nil {
		err = driver.SessionSQL(&s.o, driver.ExecOn(ctx, c))
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	x := &session{s: s, c: c}
	// By default SQLite does not check foreign keys.
	if refers(s.tables) {
		if _, err := c.ExecContext(ctx, foreignKeysOn); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	for _, p := range []struct {
		st  **sql.Stmt
		sql string
	}{
		{&x.begin, s.begin}, {&x.commit, "commit"}, {&x.rollback, "rollback"},
		{&x.get, driver.KVGet(s.wide)},
		{&x.put, driver.KVPut(s.wide, driver.OnConflict)},
		{&x.add, driver.ListAppend(driver.OnConflict)},
		{&x.list, driver.ListGet},
	} {
		if *p.st, err = c.PrepareContext(ctx, p.sql); err != nil {
			x.Close()
			return nil, err
		}
	}
	if len(s.tables) > 0 {
		x.ColumnsSQL = s.columns(driver.AskInts(c))
	}
	return x, nil
}

func refers(tables []driver.Table) bool {
	return slices.ContainsFunc(tables, func(t driver.Table) bool { return len(t.Foreign) > 0 })
}

const foreignKeysOn = "pragma foreign_keys = on"

// lookAnew makes a connection read the schema again. A connection notices new tables only when it runs a statement.
// Otherwise it would compile an insert with the old schema, and refuse it because of the number of columns.
func (s *database) lookAnew(ctx context.Context, c *sql.Conn) error {
	var n int
	return c.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&n)
}

type session struct {
	*driver.ColumnsSQL                           // nil without tables with columns
	s                                            *database
	c                                            *sql.Conn
	begin, commit, rollback, get, put, add, list *sql.Stmt
}

func (x *session) exec(st *sql.Stmt, args ...any) error {
	runtime.Gosched() // without a network between them, transactions would hardly overlap
	_, err := st.ExecContext(context.Background(), args...)
	return err
}

func (x *session) Begin() error  { return x.exec(x.begin) }
func (x *session) Commit() error { return x.exec(x.commit) }
func (x *session) Rollback() error {
	err := x.exec(x.rollback)
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil // some errors roll back by themselves
	}
	return err
}

func (x *session) Savepoint() error  { return x.say(driver.SavepointSQL) }
func (x *session) RollbackTo() error { return x.say(driver.RollbackToSQL) }

func (x *session) say(q string) error {
	_, err := x.c.ExecContext(context.Background(), q)
	return err
}

func (x *session) Close() {
	for _, st := range []*sql.Stmt{x.begin, x.commit, x.rollback, x.get, x.put, x.add, x.list} {
		if st != nil {
			_ = st.Close()
		}
	}
	release(x.c)
}

// release ends a connection's transaction, since another session will use the connection.
func release(c *sql.Conn) {
	_, _ = c.ExecContext(context.Background(), "rollback")
	_ = c.Close()
}

func (x *session) Get(key int64, _ bool) (driver.Row, bool, error) {
	runtime.Gosched()
	return driver.ScanRow(x.s.wide, x.get.QueryRowContext(context.Background(), key))
}

func (x *session) Put(key int64, r driver.Row) error {
	return x.exec(x.put, driver.KVArgs(x.s.wide, key, r)...)
}

func (x *session) Append(key, element int64) error { return x.exec(x.add, key, element) }

func (x *session) List(dst []int64, key int64) ([]int64, bool, error) {
	runtime.Gosched()
	return driver.ScanList(dst, x.list.QueryRowContext(context.Background(), key))
}

// Autocommit needs no statement, since there is only one level.
func (x *session) Autocommit(bool) (bool, error) { return true, nil }

// Say runs a statement as text.
func (x *session) Say(statement string) (driver.Answer, error) { return driver.SayOn(x.c, statement) }

// broken reports whether a constraint refused a statement.
func broken(err error) bool {
	var s *sqlite.Error
	return errors.As(err, &s) && s.Code()&0xff == 19 // SQLITE_CONSTRAINT
}

// code returns the extended code.
func code(err error) string {
	var s *sqlite.Error
	if !errors.As(err, &s) {
		return ""
	}
	return strconv.Itoa(s.Code())
}

// Hint returns the hint for one of SQLite's two plans. SQLite has no bitmap scans.
func Hint(p workload.Plan, index string) string {
	if p == workload.Sequential {
		return " not indexed"
	}
	return " indexed by " + index
}
