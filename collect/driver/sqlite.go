//go:build !offline

package driver

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"modernc.org/sqlite"

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
	{"SQLite", "serializable", []level.Level{level.StrictSerializable}, "SQLite, Isolation In SQLite: serializable"},
	{"SQLite", "immediate", []level.Level{level.StrictSerializable}, "SQLite, Isolation In SQLite: serializable"},
}

type sqliteDB struct {
	o      Options
	db     *sql.DB
	dir    string // to remove; "": none
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
		if s.dir, err = os.MkdirTemp("", "isovet-sqlite-"); err != nil {
			return nil, err
		}
		file = filepath.Join(s.dir, "db")
	}
	dsn := "file:" + file + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"
	if options != "" {
		dsn += "&" + options
	}
	if s.db, err = sql.Open("sqlite", dsn); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	var version string
	if err := s.db.QueryRowContext(ctx, "select sqlite_version()").Scan(&version); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.remove())
	}
	s.info = Info{Name: "SQLite " + version, Isolation: "serializable", Nodes: []Node{{Name: "sqlite"}},
		Dialect: "sqlite", Version: version, Settings: []Setting{{SQL: "pragma busy_timeout = 5000"},
			{SQL: "pragma journal_mode = wal"}, {SQL: "pragma synchronous = off"}}}
	if iso == "immediate" {
		s.info.Isolation = "serializable, begin immediate"
	}
	return s, nil
}

func (s *sqliteDB) remove() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
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
		columns: columnsSQL{tables: s.tables, upsert: onConflict}}
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
	if s.dir == "" {
		for _, q := range dropTables() {
			_, e := s.db.Exec(q)
			err = errors.Join(err, e)
		}
	}
	return errors.Join(err, s.db.Close(), s.remove())
}

// Classify: SQLITE_BUSY and SQLITE_LOCKED, in all their forms, are refusals (a snapshot too old to be written on is
// BUSY_SNAPSHOT).
func (s *sqliteDB) Classify(err error) Class {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case 5, 6:
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
	err = sessionSQL(&s.o, execOn(ctx, c))
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	x := &sqliteSession{s: s, c: c}
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
		x.columnsSQL = &columnsSQL{tables: s.tables, ask: askInts(c), upsert: onConflict}
	}
	return x, nil
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

func (x *sqliteSession) Close() {
	for _, st := range []*sql.Stmt{x.begin, x.commit, x.rollback, x.get, x.put, x.add, x.list} {
		if st != nil {
			_ = st.Close()
		}
	}
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
