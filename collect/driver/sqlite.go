//go:build !offline

package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"

	"isovet/internal/filelock"
	"isovet/level"
)

func init() {
	register(Scheme{
		Name:  "sqlite",
		URLs:  []string{"sqlite", "sqlite3"},
		About: "SQLite inside this program: sqlite: (a throw-away file), sqlite:FILE",
		Isolations: []string{
			"serializable=ser=deferred=default=session-serializable=strict-serializable",
			"immediate=exclusive", // the write lock at begin
		},
		Embedded: true,
		SQL:      true,
		Promises: sqlitePromises,
		open:     openSQLite,
	})
}

// sqlitePromises are the documentation's words as levels.
var sqlitePromises = []Promise{
	{"SQLite", "serializable", []level.Level{level.StrictSerializable}, "SQLite, Isolation In SQLite: " +
		"serializable", nil},
	{"SQLite", "immediate", []level.Level{level.StrictSerializable}, "SQLite, Isolation In SQLite: serializable", nil},
}

type sqliteDB struct {
	o      Options
	db     *sql.DB
	dir    *filelock.Folder // of a throw-away database, else nil
	begin  string
	info   Info
	tables []Table // with columns, loaded last
	wide   bool    // so were rows with wide payloads
}

func openSQLite(ctx context.Context, urls []string, iso string, o Options) (_ DB, err error) {
	if o.Timestamps {
		return nil, unsupported("SQLite does not tell its timestamps; expected PostgreSQL, Badger or etcd with " +
			"--timestamps")
	}
	s := &sqliteDB{o: o, begin: "begin"}
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
	// Nothing of ours takes long here but waiting for another session's lock.
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
	s.info = Info{Name: "SQLite " + version, Isolation: "serializable", Nodes: []Node{{Name: "sqlite"}},
		Dialect: "sqlite", Version: version, Settings: []Setting{{SQL: fmt.Sprintf("pragma busy_timeout = %d", wait)},
			{SQL: "pragma journal_mode = wal"}, {SQL: "pragma synchronous = off"}}}
	if iso == "immediate" {
		s.info.Isolation = "serializable, begin immediate"
	}
	return s, nil
}

func (s *sqliteDB) Info() Info { return s.info }
func (s *sqliteDB) Cut()       {}

// makes are the statements that make the tables of a load.
func (s *sqliteDB) makes(d Data) []string {
	return slices.Concat([]string{kvTable(d.Wide, "integer", "text"),
		"create table isovet_list(k integer primary key, val text not null)"}, createTables(d.Tables, "integer", ""))
}

// Statements says what sessions send.
func (s *sqliteDB) Statements() *Statements {
	return &Statements{Tables: s.makes(Data{Wide: s.wide, Tables: s.tables}), Begin: s.begin, wide: s.wide,
		columns: *s.columns(nil)}
}

// columns is how sessions speak to tables with columns.
func (s *sqliteDB) columns(ask func(string, func([]int64) error) error) *columnsSQL {
	return &columnsSQL{tables: s.tables, ask: ask, upsert: onConflict, hint: sqliteHint,
		tells: telling{updates: true, deletes: true}}
}

// Partition: there is nothing between us.
func (s *sqliteDB) Partition(int, bool) bool { return false }

func (s *sqliteDB) Load(ctx context.Context, d Data) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	s.tables, s.wide = d.Tables, d.Wide
	s.info.Settings = slices.DeleteFunc(slices.Clone(s.info.Settings), func(x Setting) bool {
		return x.SQL == foreignKeysOn
	})
	if refers(d.Tables) {
		s.info.Settings = append(s.info.Settings, Setting{SQL: foreignKeysOn})
	}
	for _, q := range slices.Concat(dropTables(), s.makes(d), []string{"begin"}) {
		if _, err := c.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	if err := sqlLoad(execOn(ctx, c), d, 500); err != nil {
		return err
	}
	if _, err = c.ExecContext(ctx, "commit"); err != nil {
		return err
	}
	return setupSQL(&s.o, execOn(ctx, c))
}

func (s *sqliteDB) Close() error {
	var err error
	if s.dir == nil {
		for _, q := range dropTables() {
			_, e := s.db.Exec(q)
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, s.db.Close(), s.dir.Remove())
}

// Classify: SQLITE_BUSY and SQLITE_LOCKED, in all their forms, are refusals (a snapshot too old to be written on is
// BUSY_SNAPSHOT), and so is SQLITE_SCHEMA, which says that the schema has changed too often meanwhile.
func (s *sqliteDB) Classify(err error) Class {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case 5, 6, 17:
			return Aborted
		}
	}
	return Fatal
}

func (s *sqliteDB) Connect(ctx context.Context, _ int) (Session, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = s.lookAnew(ctx, c)
	if err == nil {
		err = sessionSQL(&s.o, execOn(ctx, c))
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	x := &sqliteSession{s: s, c: c}
	// Without being asked SQLite does not check them.
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
		{&x.get, kvGet(s.wide)},
		{&x.put, kvPut(s.wide, onConflict)},
		{&x.add, listAppend(onConflict)},
		{&x.list, listGet},
	} {
		if *p.st, err = c.PrepareContext(ctx, p.sql); err != nil {
			x.Close()
			return nil, err
		}
	}
	if len(s.tables) > 0 {
		x.columnsSQL = s.columns(askInts(c))
	}
	return x, nil
}

func refers(tables []Table) bool {
	return slices.ContainsFunc(tables, func(t Table) bool { return len(t.Foreign) > 0 })
}

const foreignKeysOn = "pragma foreign_keys = on"

// lookAnew has a connection that has seen other tables see those that are there: it is told when it runs a statement,
// but compiles an insert by what it remembers, and refuses one with another number of columns.
func (s *sqliteDB) lookAnew(ctx context.Context, c *sql.Conn) error {
	var n int
	return c.QueryRowContext(ctx, "select count(*) from sqlite_master").Scan(&n)
}

type sqliteSession struct {
	*columnsSQL                                  // nil without tables with columns
	s                                            *sqliteDB
	c                                            *sql.Conn
	begin, commit, rollback, get, put, add, list *sql.Stmt
}

func (x *sqliteSession) exec(st *sql.Stmt, args ...any) error {
	runtime.Gosched() // without a network between them, transactions would hardly overlap
	_, err := st.ExecContext(context.Background(), args...)
	return err
}

func (x *sqliteSession) Begin() error  { return x.exec(x.begin) }
func (x *sqliteSession) Commit() error { return x.exec(x.commit) }
func (x *sqliteSession) Rollback() error {
	err := x.exec(x.rollback)
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil // some errors roll back by themselves
	}
	return err
}

func (x *sqliteSession) Savepoint() error  { return x.say(savepoint) }
func (x *sqliteSession) RollbackTo() error { return x.say(rollbackTo) }

func (x *sqliteSession) say(q string) error {
	_, err := x.c.ExecContext(context.Background(), q)
	return err
}

func (x *sqliteSession) Close() {
	for _, st := range []*sql.Stmt{x.begin, x.commit, x.rollback, x.get, x.put, x.add, x.list} {
		if st != nil {
			_ = st.Close()
		}
	}
	// Another session will have the connection.
	_, _ = x.c.ExecContext(context.Background(), "rollback")
	_ = x.c.Close()
}

func (x *sqliteSession) Get(key int64, _ bool) (Row, bool, error) {
	runtime.Gosched()
	return scanRow(x.s.wide, x.get.QueryRowContext(context.Background(), key))
}

func (x *sqliteSession) Put(key int64, r Row) error {
	return x.exec(x.put, kvArgs(x.s.wide, key, r)...)
}

func (x *sqliteSession) Append(key, element int64) error { return x.exec(x.add, key, element) }

func (x *sqliteSession) List(dst []int64, key int64) ([]int64, bool, error) {
	runtime.Gosched()
	return scanList(dst, x.list.QueryRowContext(context.Background(), key))
}
