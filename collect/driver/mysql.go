//go:build !offline

package driver

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"isovet/datasets/workload"
	"isovet/level"
)

func init() {
	register(Scheme{
		Name:  "mysql",
		URLs:  []string{"mysql", "mariadb", "galera"},
		About: "MariaDB, Galera and MySQL, and what speaks their protocol",
		Isolations: []string{
			"default",
			"serializable=ser=session-serializable",
			"repeatable-read=rr",
			// MariaDB: repeatable read with innodb_snapshot_isolation
			"snapshot-isolation=si=snapshot=session-snapshot-isolation",
			"read-committed=rc",
			"read-uncommitted=ru",
		},
		SQL:      true,
		Promises: mysqlPromises,
		open:     openMySQL,
	})
}

// mysqlPromises are the documentation's words as levels.
var mysqlPromises = []Promise{
	{"MariaDB", "read-uncommitted", nil, "MariaDB documentation, SET TRANSACTION: dirty reads are possible", nil},
	{"MariaDB", "read-committed", []level.Level{level.ReadCommitted}, "MariaDB documentation, SET TRANSACTION: each " +
		"read has a snapshot of its own", nil},
	{"MariaDB", "repeatable-read", []level.Level{level.ReadCommitted}, "MariaDB documentation, SET TRANSACTION: " +
		"plain reads are from the snapshot of the first one; writes and locking reads see what is newest", mixedReads},
	{"MariaDB", "snapshot-isolation", []level.Level{level.SnapshotIsolation}, "MariaDB documentation, " +
		"innodb_snapshot_isolation", nil},
	{"MariaDB", "serializable", []level.Level{level.Serializable}, "MariaDB documentation, SET TRANSACTION", nil},
	{"MySQL", "read-uncommitted", nil, "MySQL manual, InnoDB transaction isolation levels: dirty reads", nil},
	{"MySQL", "read-committed", []level.Level{level.ReadCommitted}, "MySQL manual, InnoDB transaction isolation " +
		"levels", nil},
	{"MySQL", "repeatable-read", []level.Level{level.ReadCommitted}, "MySQL manual, InnoDB transaction isolation " +
		"levels: plain reads are from the snapshot of the first one; writes and locking reads see what is newest",
		mixedReads},
	{"MySQL", "serializable", []level.Level{level.Serializable}, "MySQL manual, InnoDB transaction isolation " +
		"levels", nil},
}

type mysqlDB struct {
	o      Options
	d      *dialer
	nodes  []*sql.DB
	addrs  []string // of the nodes
	setup  []string // statements of a new session
	info   Info
	tables []Table // with columns, loaded last
	wide   bool    // so were rows with wide payloads
	access accesses
	tells  telling
	// prepared: the server prepares all statements that have values, else the client writes the values in.
	prepared bool
}

func openMySQL(ctx context.Context, urls []string, iso string, o Options) (DB, error) {
	level := "set session transaction isolation level "
	switch iso {
	case "default":
		return connectMySQL(ctx, urls, o, lockWait)
	case "snapshot-isolation":
		return connectMySQL(ctx, urls, o, lockWait, "set session innodb_snapshot_isolation = 1",
			level+"repeatable read")
	}
	return connectMySQL(ctx, urls, o, lockWait, level+strings.ReplaceAll(iso, "-", " "))
}

// connectMySQL opens a database whose sessions begin with the statements of setup.
func connectMySQL(ctx context.Context, urls []string, o Options, setup ...string) (DB, error) {
	if o.Timestamps {
		return nil, unsupported("MariaDB and MySQL do not tell their timestamps; expected PostgreSQL, Badger or " +
			"etcd with --timestamps")
	}
	m := &mysqlDB{o: o, d: newDialer(o.Timeout), setup: setup}
	for i, s := range urls {
		cfg, err := mysqlConfig(s)
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = m.d.dial
		if m.prepared = !cfg.InterpolateParams; m.prepared {
			m.info.Statements = "interpolateParams=false"
		}
		if i == 0 {
			if err := makeDatabase(ctx, cfg); err != nil {
				return nil, err
			}
		}
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, err
		}
		m.nodes, m.addrs = append(m.nodes, sql.OpenDB(c)), append(m.addrs, cfg.Addr)
		m.info.Nodes = append(m.info.Nodes, Node{Name: o.Nodes[i]})
	}
	err := m.settledWith(ctx, 0, func(c *sql.Conn) error {
		if err := c.QueryRowContext(ctx, "select version()").Scan(&m.info.Version); err != nil {
			return err
		}
		m.info.Dialect, m.info.Settings = "mysql", nil
		m.info.Name = mysqlProduct(m.info.Version, func(q string) string {
			var v sql.NullString
			_ = c.QueryRowContext(ctx, q).Scan(&v) // "" where there is no such function or variable
			return v.String
		})
		if len(urls) > 1 {
			m.info.Name += fmt.Sprintf(", %d nodes", len(urls))
		}
		if err := m.prepare(ctx, c, func(s Setting) { m.info.Settings = append(m.info.Settings, s) }); err != nil {
			return err
		}
		// MySQL 8 has renamed MariaDB's tx_isolation.
		if err := c.QueryRowContext(ctx, "select @@transaction_isolation").Scan(&m.info.Isolation); err != nil {
			if err := c.QueryRowContext(ctx, "select @@tx_isolation").Scan(&m.info.Isolation); err != nil {
				return err
			}
		}
		m.info.Isolation = strings.ToLower(strings.ReplaceAll(m.info.Isolation, "-", " "))
		var si int
		if c.QueryRowContext(ctx, "select @@innodb_snapshot_isolation").Scan(&si) == nil && si != 0 {
			m.info.Isolation += ", innodb_snapshot_isolation"
		}
		return nil
	})
	return m, err
}

// mysqlConfig reads a URL; its parameters are the library's own or variables of the session.
func mysqlConfig(s string) (*mysql.Config, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("not a URL; expected mysql://user:password@host:port/database")
	}
	cfg, err := mysql.ParseDSN("/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr = u.Hostname() + ":3306"
	}
	if cfg.DBName = strings.Trim(u.Path, "/"); cfg.DBName == "" {
		cfg.DBName = "isovet"
	}
	if !u.Query().Has("interpolateParams") {
		cfg.InterpolateParams = true
	}
	cfg.Logger = silent{}
	return cfg, nil
}

// silent takes what the library would log.
type silent struct{}

func (silent) Print(...any) {}

// makeDatabase makes the database if it is not there yet.
func makeDatabase(ctx context.Context, cfg *mysql.Config) error {
	plain := cfg.Clone()
	plain.DBName = ""
	plain.DialFunc = cfg.DialFunc
	c, err := mysql.NewConnector(plain)
	if err != nil {
		return err
	}
	db := sql.OpenDB(c)
	defer db.Close()
	return settled(ctx, func() error {
		_, err := db.ExecContext(ctx, "create database if not exists `"+strings.ReplaceAll(cfg.DBName, "`", "``")+"`")
		var e *mysql.MySQLError
		if errors.As(err, &e) && (e.Number == 1044 || e.Number == 1142 || e.Number == 1227) {
			return nil // we may not; if it is not there, the connection says so
		}
		return err
	})
}

// settled is f, tried again while a server hangs up on it, as a node of Galera does while others join. Only for what
// may be done twice.
func settled(ctx context.Context, f func() error) (err error) {
	gone := until(ctx, 2*time.Second, func() error {
		if err = f(); errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sqldriver.ErrBadConn) {
			return err
		}
		return nil
	})
	return cmp.Or(gone, err)
}

// lockWait bounds how long a session waits for a lock. Where a server has no such thing, it waits as long as it likes.
const lockWait = "set session innodb_lock_wait_timeout = 2"

// prepare runs the statements of a new session and tells of each, if told is not nil. What only saves time may be
// refused; a variable that a server does not have is else the isolation that it cannot give.
func (m *mysqlDB) prepare(ctx context.Context, c *sql.Conn, told func(Setting)) error {
	for _, s := range m.setup {
		_, err := c.ExecContext(ctx, s)
		var e *mysql.MySQLError
		switch refused := errors.As(err, &e); {
		case refused && s == lockWait:
		case refused && strings.Contains(s, "innodb_snapshot_isolation"):
			return unsupported("%s has no innodb_snapshot_isolation, and its repeatable read is not snapshot "+
				"isolation (%v)", m.info.Name, err)
		case err != nil:
			return err
		}
		if told != nil {
			told(Setting{SQL: s, Refused: refusal(err)})
		}
	}
	return nil
}

// settledWith is with for what may be done twice.
func (m *mysqlDB) settledWith(ctx context.Context, node int, f func(*sql.Conn) error) error {
	return settled(ctx, func() error { return m.with(ctx, node, f) })
}

// with runs f on a connection of its own.
func (m *mysqlDB) with(ctx context.Context, node int, f func(*sql.Conn) error) error {
	c, err := m.nodes[node].Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

func (m *mysqlDB) Info() Info { return m.info }

// makes are the statements that make the tables of a load.
func (m *mysqlDB) makes(d Data) []string {
	return slices.Concat([]string{kvTable(d.Wide, "bigint", "mediumtext"+ascii) + innoDB,
		"create table isovet_list(k bigint primary key, val mediumtext" + ascii + " not null)" + innoDB},
		createTables(d.Tables, "bigint", innoDB))
}

// Statements says what sessions send.
func (m *mysqlDB) Statements() *Statements {
	return &Statements{Tables: m.makes(Data{Wide: m.wide, Tables: m.tables}), Begin: "begin", access: m.access, wide: m.wide,
		columns: *m.columns(nil)}
}

// columns is how sessions speak to tables with columns.
func (m *mysqlDB) columns(ask func(string, func([]int64) error) error) *columnsSQL {
	return &columnsSQL{tables: m.tables, ask: ask, upsert: onKey, lock: " for update",
		share: " lock in share mode", hint: mysqlHint, keyTaken: mysqlKeyTaken, tells: m.tells}
}

// mysqlKeyTaken tells a duplicate of the primary key from one of another unique index. The statement alone is undone.
func mysqlKeyTaken(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == 1062 && strings.Contains(e.Message, "PRIMARY")
}

func (m *mysqlDB) Cut() { m.d.cut() }

func (m *mysqlDB) Partition(node int, off bool) bool {
	m.d.partition(m.addrs[node], off)
	return true
}

// What MariaDB and MySQL want said, and others may not know.
const (
	innoDB = " engine=InnoDB"
	ascii  = " character set ascii"
)

// mysqlRefused reports whether a server has answered, with an error.
func mysqlRefused(err error) bool { return errors.As(err, new(*mysql.MySQLError)) }

// createAnyhow runs a statement, where the server refuses it without what is said of engine and characters.
func createAnyhow(exec func(string) error, statement string) error {
	err := exec(statement)
	bare := strings.ReplaceAll(strings.TrimSuffix(statement, innoDB), ascii, "")
	if mysqlRefused(err) && bare != statement && exec(bare) == nil {
		return nil
	}
	return err
}

func (m *mysqlDB) Load(ctx context.Context, d Data) error {
	err := m.settledWith(ctx, 0, func(c *sql.Conn) error {
		for _, s := range slices.Concat(dropTables(), m.makes(d)) {
			if err := createAnyhow(execOn(ctx, c), s); err != nil {
				return err
			}
		}
		m.tables, m.wide = d.Tables, d.Wide
		if err := sqlLoad(execOn(ctx, c), d, 5000); err != nil {
			return err
		}
		err := undoes(ctx, c, "begin", "rollback", m.info.Name, d.Mark)
		if err != nil {
			return err
		}
		m.access = accesses{workload.ReadOnly: "start transaction read only"}
		if err := m.access.find(execOn(ctx, c), "rollback", mysqlRefused); err != nil {
			return err
		}
		m.tells, err = findTelling(d.Tables, execOn(ctx, c), textOn(ctx, c), "begin", mysqlRefused)
		if err != nil {
			return err
		}
		return setupSQL(&m.o, execOn(ctx, c))
	})
	if err != nil {
		return err
	}
	for i := range m.nodes {
		err := until(ctx, 30*time.Second, func() error {
			return m.with(ctx, i, func(c *sql.Conn) error {
				var u int64
				err := c.QueryRowContext(ctx, "select u from isovet_kv where k = ?", int64(markKey)).Scan(&u)
				if err == nil && u != d.Mark {
					err = errors.New("it shows an older load")
				}
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("node %s does not show what was loaded: %w", m.info.Nodes[i].Name, err)
		}
	}
	return nil
}

func (m *mysqlDB) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.o.Timeout)
	defer cancel()
	err := m.with(ctx, 0, func(c *sql.Conn) error {
		for _, s := range dropTables() {
			if _, err := c.ExecContext(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	for _, n := range m.nodes {
		err = errors.Join(err, n.Close())
	}
	m.Cut()
	return err
}

// mysqlAborts are the numbers of errors after which the transaction has had no effect once it is rolled back: deadlock,
// lock wait timeout, record changed since the snapshot, duplicate key, query interrupted, table changed since the
// snapshot; TiDB's write conflicts.
var mysqlAborts = []uint16{1213, 1205, 1020, 1062, 1317, 1412, 9007, 8002, 8022, 8028}

// mysqlLost are those after which the session is of no use: shutdown, killed, and Galera's "not yet prepared for
// application use".
var mysqlLost = []uint16{1053, 1927, 1152, 1159, 1161, 1047, 1040, 4031}

// Classify goes by the error's number.
func (m *mysqlDB) Classify(err error) Class {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		switch {
		case slices.Contains(mysqlAborts, e.Number):
			return Aborted
		case slices.Contains(mysqlLost, e.Number):
			return Lost
		case e.Number == 1180: // got error during COMMIT
			return Unclear
		}
		return Fatal
	}
	if lost(err) || errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err,
		sql.ErrConnDone) || errors.Is(err, mysql.ErrBusyBuffer) {
		return Lost
	}
	return Fatal
}

func (m *mysqlDB) Connect(ctx context.Context, node int) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	c, err := m.nodes[node].Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.prepare(ctx, c, nil); err != nil {
		discard(c)
		return nil, err
	}
	err = sessionSQL(&m.o, execOn(ctx, c))
	if err != nil {
		discard(c)
		return nil, err
	}
	s := &mysqlSession{c: c, run: c, access: &m.access, wide: m.wide, get: kvGet(m.wide), put: kvPut(m.wide, onKey), add: listAppend(onKey)}
	if m.prepared {
		s.run = &preparing{c: c}
	}
	if len(m.tables) > 0 {
		s.columnsSQL = m.columns(askInts(s.run))
		s.columnsSQL.text = textOn(context.Background(), c)
	}
	return s, nil
}

// discard closes a connection rather than give it back.
func discard(c *sql.Conn) {
	_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = c.Close()
}

type mysqlSession struct {
	*columnsSQL   // nil without tables with columns
	c             *sql.Conn
	run           rowRunner // c, or by way of prepared statements
	access        *accesses
	wide          bool
	get, put, add string
}

func (s *mysqlSession) exec(q string, args ...any) error {
	_, err := s.run.ExecContext(context.Background(), q, args...)
	return err
}

func (s *mysqlSession) Begin() error { return s.exec("begin") }
func (s *mysqlSession) BeginAs(a workload.Access) error {
	return s.exec(s.access.or(a, "begin"))
}
func (s *mysqlSession) Commit() error     { return s.exec("commit") }
func (s *mysqlSession) Rollback() error   { return s.exec("rollback") }
func (s *mysqlSession) Savepoint() error  { return s.exec(savepoint) }
func (s *mysqlSession) RollbackTo() error { return s.exec(rollbackTo) }
func (s *mysqlSession) Close()            { discard(s.c) }

func (s *mysqlSession) Get(key int64, lock bool) (Row, bool, error) {
	q := s.get
	if lock {
		q += " for update"
	}
	return scanRow(s.wide, s.run.QueryRowContext(context.Background(), q, key))
}

func (s *mysqlSession) Put(key int64, r Row) error {
	return s.exec(s.put, kvArgs(s.wide, key, r)...)
}

func (s *mysqlSession) Append(key, element int64) error {
	return s.exec(s.add, key, strconv.FormatInt(element, 10))
}

func (s *mysqlSession) List(dst []int64, key int64) ([]int64, bool, error) {
	return scanList(dst, s.run.QueryRowContext(context.Background(), "select val from isovet_list where k = ?", key))
}
