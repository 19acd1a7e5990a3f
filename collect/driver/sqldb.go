package driver

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/collect/driver/dial"
)

// SQL describes a user's database that has a driver for database/sql. After RegisterSQL all workloads can run on it.
// Rows, lists and tables with columns are stored as in any other SQL database. The driver finds by trial how to
// overwrite a row: by "on conflict", "on duplicate key", merge, or a read and then an update or an insert.
type SQL struct {
	Scheme string // of its URLs, such as "mydb": --db mydb:…
	About  string // for --help
	// Isolations are the names of its levels, the default first. Further names of a level follow after "=".
	Isolations []string
	// Levels maps the names to levels for BeginTx. A missing name means sql.LevelDefault.
	Levels   map[string]sql.IsolationLevel
	Promises []Promise
	// Embedded says that the database runs inside the program, and has no nodes.
	Embedded bool
	// Open opens the database of a URL. Every connection of it can become a session.
	Open func(url string) (*sql.DB, error)
	// Name is the product. Version is a query for its version, or "".
	Name, Version string
	// Text is the type for texts, "text" if it is "". Lock is the text after a select that locks its rows, or "".
	Text, Lock string
	// Dual is the text after a select without a table, such as " from dual".
	Dual string
	// Batch bounds the rows of an insert; 0 means 500.
	Batch int
	// Classify returns the class of an error. It need not recognise lost connections and context errors.
	Classify func(error) Class
	// Breaks reports whether an error of class Fatal breaks an Embedded database, so that it must be opened anew. nil
	// means that none does.
	Breaks func(error) bool
	// Settings are statements with which a session begins. A refusal is noted.
	Settings []string
}

// RegisterSQL registers a database.
func RegisterSQL(d SQL) {
	Register(Scheme{Name: d.Scheme, URLs: []string{d.Scheme}, About: d.About, Isolations: d.Isolations,
		Embedded: d.Embedded, SQL: true, Promises: d.Promises},
		func(ctx context.Context, urls []string, iso string, o Options) (DB, error) {
			return openSQL(ctx, d, urls, iso, o)
		})
}

type sqlDB struct {
	d      SQL
	o      Options
	nodes  []*sql.DB
	level  sql.IsolationLevel
	info   Info
	upsert Upsert
	tables []Table
	wide   bool
}

func openSQL(ctx context.Context, d SQL, urls []string, iso string, o Options) (DB, error) {
	d.Text, d.Batch, d.Name = cmp.Or(d.Text, "text"), cmp.Or(d.Batch, 500), cmp.Or(d.Name, d.Scheme)
	s := &sqlDB{d: d, o: o, level: d.Levels[iso],
		info: Info{Name: d.Name, Isolation: strings.ReplaceAll(iso, "-", " ")}}
	for i, u := range urls {
		db, err := d.Open(u)
		if err != nil {
			return nil, errors.Join(err, s.closeNodes())
		}
		s.nodes, s.info.Nodes = append(s.nodes, db), append(s.info.Nodes, Node{Name: o.Nodes[i]})
	}
	c, err := s.nodes[0].Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, s.closeNodes())
	}
	defer c.Close()
	if d.Version != "" {
		if err := c.QueryRowContext(ctx, d.Version).Scan(&s.info.Version); err != nil {
			return nil, errors.Join(err, s.closeNodes())
		}
		s.info.Name += " " + strings.TrimSpace(s.info.Version)
	}
	for _, q := range d.Settings {
		s.info.Settings = append(s.info.Settings, Setting{SQL: q, Refused: Refusal(ExecOn(ctx, c)(q))})
	}
	return s, nil
}

func (s *sqlDB) closeNodes() (err error) {
	for _, n := range s.nodes {
		err = errors.Join(err, n.Close())
	}
	return err
}

func (s *sqlDB) Info() Info { return s.info }
func (s *sqlDB) Cut()       {}

// Partition does nothing, since a driver of database/sql makes its own connections.
func (s *sqlDB) Partition(int, bool) bool { return false }

// Classify uses the adapter's Classify, and the usual errors of a lost connection.
func (s *sqlDB) Classify(err error) Class {
	if s.d.Classify != nil {
		if c := s.d.Classify(err); c != Fatal {
			return c
		}
	}
	if dial.Lost(err) || errors.Is(err, sql.ErrConnDone) {
		return Lost
	}
	return Fatal
}

// Breaks uses the adapter's Breaks.
func (s *sqlDB) Breaks(err error) bool { return s.d.Embedded && s.d.Breaks != nil && s.d.Breaks(err) }

// drop removes isovet's tables. It ignores errors, since a table may not exist.
func (s *sqlDB) drop(exec func(string) error) {
	for _, q := range DropTables() {
		_ = exec(strings.Replace(q, " if exists", "", 1))
	}
}

func (s *sqlDB) Load(ctx context.Context, d Data) error {
	c, err := s.nodes[0].Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	exec := ExecOn(ctx, c)
	s.drop(exec)
	for _, q := range slices.Concat([]string{KVTable(d.Wide, "bigint", s.d.Text),
		"create table isovet_list(k bigint primary key, val " + s.d.Text + " not null)"},
		CreateTables(d.Tables, "bigint", "")) {
		if err := exec(strings.ReplaceAll(q, "k bigint primary key", "k bigint not null primary key")); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	s.tables, s.wide = d.Tables, d.Wide
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = SQLLoad(func(q string) error { _, err := tx.ExecContext(ctx, q); return err }, d, s.d.Batch)
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if err := s.undoes(ctx, c, d.Mark); err != nil {
		return err
	}
	if err := s.findUpsert(ctx, c, d); err != nil {
		return err
	}
	return SetupSQL(&s.o, exec)
}

// undoes is Undoes with BeginTx.
func (s *sqlDB) undoes(ctx context.Context, c *sql.Conn, mark int64) error {
	tx, err := c.BeginTx(ctx, &sql.TxOptions{Isolation: s.level})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("update isovet_kv set u = 0 where k = %d", MarkKey))
	if err := errors.Join(err, tx.Rollback()); err != nil {
		return err
	}
	var u int64
	err = c.QueryRowContext(ctx, fmt.Sprintf("select u from isovet_kv where k = %d", MarkKey)).Scan(&u)
	if err == nil && u != mark {
		err = Unsupported("%s: the writes of a transaction remain after its rollback", s.info.Name)
	}
	return err
}

// findUpsert finds, with the mark's row, the statement that overwrites a row. It rolls each trial back.
func (s *sqlDB) findUpsert(ctx context.Context, c *sql.Conn, d Data) error {
	row := []string{strconv.Itoa(MarkKey), strconv.FormatInt(d.Mark, 10), "0", "''"}[:len(KVColumns(d.Wide))]
	var all []error
	for _, u := range []Upsert{OnConflict, OnKey, Merge, LookFirst} {
		tx, err := c.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		q := UpdateSQL(KVName, KVColumns(d.Wide), row, false)
		if u != LookFirst {
			q = u.SQL(KVName, KVColumns(d.Wide), row, false, s.d.Dual)
		}
		_, err = tx.ExecContext(ctx, q)
		if err := tx.Rollback(); err != nil {
			return err
		}
		if err == nil {
			s.upsert = u
			return nil
		}
		all = append(all, fmt.Errorf("%v: %w", u, err))
	}
	return errors.Join(all...)
}

func (s *sqlDB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.Timeout)
	defer cancel()
	c, err := s.nodes[0].Conn(ctx)
	if err == nil {
		s.drop(ExecOn(ctx, c))
		err = c.Close()
	}
	return errors.Join(err, s.closeNodes())
}

func (s *sqlDB) Connect(ctx context.Context, node int) (Session, error) {
	c, err := s.nodes[node].Conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, q := range s.d.Settings {
		_ = ExecOn(ctx, c)(q) // openSQL has noted refusals
	}
	if err := SessionSQL(&s.o, ExecOn(ctx, c)); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	x := &sqlSession{db: s, c: c}
	if len(s.tables) > 0 {
		x.ColumnsSQL = &ColumnsSQL{Tables: s.tables, Upsert: s.upsert, dual: s.d.Dual, Lock: s.d.Lock, mod: true,
			Ask: func(q string, row func([]int64) error) error { return AskInts(timed{x})(q, row) }}
	}
	return x, nil
}

// sqlSession runs its transactions by BeginTx.
type sqlSession struct {
	*ColumnsSQL // nil if there are no tables with columns
	db          *sqlDB
	c           *sql.Conn
	tx          *sql.Tx // nil: none is open
	// ctx is the context of the last statement, or nil.
	ctx  context.Context
	done func()
}

// within returns a context for the next statement, which must be answered in time. It ends the context of the previous
// statement, whose rows have been read.
func (x *sqlSession) within() context.Context {
	x.settle()
	ctx, cancel := context.WithTimeout(context.Background(), x.db.o.Timeout)
	x.ctx, x.done = ctx, cancel
	return ctx
}

func (x *sqlSession) settle() {
	if x.done != nil {
		x.done()
		x.done = nil
	}
}

// timed is the transaction of a session. Each of its statements must be answered in time, whatever its context. A
// library may report that with an error of its own.
type timed struct{ x *sqlSession }

func (t timed) ExecContext(_ context.Context, q string, args ...any) (sql.Result, error) {
	ctx := t.x.within()
	r, err := t.x.tx.ExecContext(ctx, q, args...)
	return r, late(ctx, err)
}

func (t timed) QueryContext(_ context.Context, q string, args ...any) (*sql.Rows, error) {
	ctx := t.x.within()
	rows, err := t.x.tx.QueryContext(ctx, q, args...)
	return rows, late(ctx, err)
}

// late marks an error that came after the time for an answer.
func late(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func (x *sqlSession) Begin() (err error) {
	x.tx, err = x.c.BeginTx(context.Background(), &sql.TxOptions{Isolation: x.db.level})
	return err
}

func (x *sqlSession) Commit() error { return x.tx.Commit() }

// Rollback accepts that a failed commit has already ended the transaction.
func (x *sqlSession) Rollback() error {
	if x.tx == nil {
		return nil
	}
	err := x.tx.Rollback()
	x.tx = nil
	x.settle()
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

func (x *sqlSession) Close() {
	_ = x.Rollback() // nothing depends on how a connection ends
	Discard(x.c)
}

// Say runs a statement as text.
func (x *sqlSession) Say(statement string) (Answer, error) {
	a, err := SayOn(timed{x}, statement)
	return a, x.inTime(err)
}

// inTime marks an error in reading a statement's rows that came after the time for an answer.
func (x *sqlSession) inTime(err error) error {
	if err != nil && x.ctx != nil {
		return late(x.ctx, err)
	}
	return err
}

func (x *sqlSession) exec(q string) error {
	_, err := timed{x}.ExecContext(context.Background(), q)
	return err
}

func (x *sqlSession) Get(key int64, lock bool) (Row, bool, error) {
	q := strings.Replace(KVGet(x.db.wide), "?", strconv.FormatInt(key, 10), 1)
	if lock {
		q += x.db.d.Lock
	}
	r, found, err := ScanRow(x.db.wide, x.tx.QueryRowContext(x.within(), q))
	return r, found, x.inTime(err)
}

func (x *sqlSession) Put(key int64, r Row) error {
	var values []string
	for _, v := range KVArgs(x.db.wide, key, r) {
		switch v := v.(type) {
		case nil:
			values = append(values, "null")
		case string:
			values = append(values, "'"+v+"'")
		default:
			values = append(values, fmt.Sprint(v))
		}
	}
	var err error
	found := true
	if x.db.upsert == LookFirst {
		_, found, err = x.Get(key, true)
	}
	if err != nil {
		return err
	}
	return x.write(KVName, KVColumns(x.db.wide), values, false, found)
}

func (x *sqlSession) Append(key, element int64) error {
	var err error
	found := true
	if x.db.upsert == LookFirst {
		_, found, err = x.List(nil, key)
	}
	if err != nil {
		return err
	}
	values := []string{strconv.FormatInt(key, 10), fmt.Sprintf("'%d'", element)}
	return x.write(ListName, ListColumns, values, true, found)
}

// write inserts or overwrites a row. found says whether the row exists, for databases without a statement that does
// both.
func (x *sqlSession) write(table string, columns, values []string, appends, found bool) error {
	switch {
	case x.db.upsert != LookFirst:
		return x.exec(x.db.upsert.SQL(table, columns, values, appends, x.db.d.Dual))
	case found:
		return x.exec(UpdateSQL(table, columns, values, appends))
	}
	return x.exec(InsertSQL(table, values))
}

func (x *sqlSession) List(dst []int64, key int64) ([]int64, bool, error) {
	q := fmt.Sprintf("select val from isovet_list where k = %d", key)
	list, found, err := ScanList(dst, x.tx.QueryRowContext(x.within(), q))
	return list, found, x.inTime(err)
}
