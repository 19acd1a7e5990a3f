// Package mysql is the driver of MariaDB and MySQL, and of servers with their protocol: Galera, TiDB, Dolt.
//
// Experimental: this package may still change.
package mysql

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

	"isovet/collect/driver"
	"isovet/collect/driver/dial"
	"isovet/datasets/workload"
)

func init() { driver.Register(driver.Scheme{Name: "mysql", Broken: broken, Code: code}, open) }

type server struct {
	o      driver.Options
	d      *dial.Dialer
	nodes  []*sql.DB
	addrs  []string // of the nodes
	setup  []string // statements of a new session
	info   driver.Info
	tables []driver.Table // tables with columns of the last load
	wide   bool           // the last load had wide payloads
	access driver.Accesses
	tells  driver.Telling
	// prepared says that the server prepares all statements with values. Otherwise the client writes the values into
	// the text.
	prepared bool
}

func open(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	level := "set session transaction isolation level "
	switch iso {
	case "default":
		return connect(ctx, urls, o, lockWait)
	case "snapshot-isolation":
		return connect(ctx, urls, o, lockWait, "set session innodb_snapshot_isolation = 1",
			level+"repeatable read")
	}
	return connect(ctx, urls, o, lockWait, level+strings.ReplaceAll(iso, "-", " "))
}

// connect opens a database whose sessions begin with the statements of setup.
func connect(ctx context.Context, urls []string, o driver.Options, setup ...string) (driver.DB, error) {
	m := &server{o: o, d: dial.New(o.Timeout), setup: setup}
	for i, s := range urls {
		cfg, err := config(s)
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = m.d.Dial
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
		m.info.Nodes = append(m.info.Nodes, driver.Node{Name: o.Nodes[i]})
	}
	err := m.settledWith(ctx, 0, func(c *sql.Conn) error {
		if err := c.QueryRowContext(ctx, "select version()").Scan(&m.info.Version); err != nil {
			return err
		}
		m.info.Dialect, m.info.Settings = "mysql", nil
		m.info.Name = Product(m.info.Version, func(q string) string {
			var v sql.NullString
			_ = c.QueryRowContext(ctx, q).Scan(&v) // "" if there is no such function or variable
			return v.String
		})
		if len(urls) > 1 {
			m.info.Name += fmt.Sprintf(", %d nodes", len(urls))
		}
		told := func(s driver.Setting) { m.info.Settings = append(m.info.Settings, s) }
		if err := m.prepare(ctx, c, told); err != nil {
			return err
		}
		// MySQL 8 renamed tx_isolation; MariaDB keeps it.
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

// config reads a URL. Its parameters are the library's, or session variables.
func config(s string) (*mysql.Config, error) {
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

// silent discards the library's log.
type silent struct{}

func (silent) Print(...any) {}

// makeDatabase makes the database if it does not exist.
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
			return nil // no right to create it; if it does not exist, connecting fails
		}
		return err
	})
}

// settled repeats f while the server closes the connection, as a node of Galera does while others join. f must be safe
// to repeat.
func settled(ctx context.Context, f func() error) (err error) {
	gone := dial.Until(ctx, 2*time.Second, func() error {
		if err = f(); errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, sqldriver.ErrBadConn) {
			return err
		}
		return nil
	})
	return cmp.Or(gone, err)
}

// lockWait sets how long a session waits for a lock. A server without this setting may wait longer.
const lockWait = "set session innodb_lock_wait_timeout = 2"

// prepare runs the statements of a new session, and reports each to told unless that is nil. The server may refuse a
// setting that only saves time. If it does not know another variable, it cannot provide the isolation level.
func (m *server) prepare(ctx context.Context, c *sql.Conn, told func(driver.Setting)) error {
	for _, s := range m.setup {
		_, err := c.ExecContext(ctx, s)
		var e *mysql.MySQLError
		switch refused := errors.As(err, &e); {
		case refused && s == lockWait:
		case refused && strings.Contains(s, "innodb_snapshot_isolation"):
			return driver.Unsupported("%s has no innodb_snapshot_isolation, and its repeatable read is not snapshot "+
				"isolation (%v)", m.info.Name, err)
		case err != nil:
			return err
		}
		if told != nil {
			told(driver.Setting{SQL: s, Refused: driver.Refusal(err)})
		}
	}
	return nil
}

// settledWith is with, repeated by settled; f must be safe to repeat.
func (m *server) settledWith(ctx context.Context, node int, f func(*sql.Conn) error) error {
	return settled(ctx, func() error { return m.with(ctx, node, f) })
}

// with runs f on a new connection.
func (m *server) with(ctx context.Context, node int, f func(*sql.Conn) error) error {
	c, err := m.nodes[node].Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

func (m *server) Info() driver.Info { return m.info }

// makes returns the statements that make the tables of a load.
func (m *server) makes(d driver.Data) []string {
	return slices.Concat([]string{driver.KVTable(d.Wide, "bigint", "mediumtext"+ascii) + innoDB,
		"create table isovet_list(k bigint primary key, val mediumtext" + ascii + " not null)" + innoDB},
		driver.CreateTables(d.Tables, "bigint", innoDB))
}

// Statements returns the statements that sessions send.
func (m *server) Statements() *driver.Statements {
	return &driver.Statements{Tables: m.makes(driver.Data{Wide: m.wide, Tables: m.tables}), Begin: "begin",
		Access: m.access, Wide: m.wide,
		Columns: *m.columns(nil)}
}

// Columns returns the access to tables with columns.
func (m *server) columns(ask func(string, func([]int64) error) error) *driver.ColumnsSQL {
	return &driver.ColumnsSQL{Tables: m.tables, Ask: ask, Upsert: driver.OnKey, Lock: " for update",
		Share: " lock in share mode", Hint: hint, KeyTaken: keyTaken, Tells: m.tells}
}

// keyTaken distinguishes a duplicate primary key from a duplicate in another unique index. The error undoes only the
// statement.
func keyTaken(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == 1062 && strings.Contains(e.Message, "PRIMARY")
}

func (m *server) Cut() { m.d.Cut() }

func (m *server) Partition(node int, off bool) bool {
	m.d.Partition(m.addrs[node], off)
	return true
}

// The options for tables that MariaDB and MySQL need. Other servers may not know them.
const (
	innoDB = " engine=InnoDB"
	ascii  = " character set ascii"
)

// refused reports whether an error is an answer of the server.
func refused(err error) bool { return errors.As(err, new(*mysql.MySQLError)) }

// createAnyhow runs a statement. If the server refuses it, it repeats it without the options for engine and character
// set.
func createAnyhow(exec func(string) error, statement string) error {
	err := exec(statement)
	bare := strings.ReplaceAll(strings.TrimSuffix(statement, innoDB), ascii, "")
	if refused(err) && bare != statement && exec(bare) == nil {
		return nil
	}
	return err
}

func (m *server) Load(ctx context.Context, d driver.Data) error {
	err := m.settledWith(ctx, 0, func(c *sql.Conn) error {
		for _, s := range slices.Concat([]string{driver.DropAll()}, m.makes(d)) {
			if err := createAnyhow(driver.ExecOn(ctx, c), s); err != nil {
				return err
			}
		}
		m.tables, m.wide = d.Tables, d.Wide
		if err := driver.SQLLoad(driver.ExecOn(ctx, c), d, 5000); err != nil {
			return err
		}
		err := driver.Undoes(driver.ExecOn(ctx, c), driver.TextOn(ctx, c), "begin", m.info.Name, d.Mark)
		if err != nil {
			return err
		}
		m.access = driver.Accesses{workload.ReadOnly: "start transaction read only"}
		if err := m.access.Find(driver.ExecOn(ctx, c), "rollback", refused); err != nil {
			return err
		}
		m.tells, err = driver.FindTelling(d.Tables, driver.ExecOn(ctx, c), driver.TextOn(ctx, c), "begin", refused)
		if err != nil {
			return err
		}
		return driver.SetupSQL(&m.o, driver.ExecOn(ctx, c))
	})
	if err != nil {
		return err
	}
	for i := range m.nodes {
		err := dial.Until(ctx, 30*time.Second, func() error {
			return m.with(ctx, i, func(c *sql.Conn) error {
				var u int64
				err := c.QueryRowContext(ctx, "select u from isovet_kv where k = ?", int64(driver.MarkKey)).Scan(&u)
				if err == nil && u != d.Mark {
					err = errors.New("it shows the rows of an earlier load")
				}
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("node %s does not show the loaded rows: %w", m.info.Nodes[i].Name, err)
		}
	}
	return nil
}

func (m *server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.o.Timeout)
	defer cancel()
	err := m.with(ctx, 0, func(c *sql.Conn) error {
		_, err := c.ExecContext(ctx, driver.DropAll())
		return err
	})
	for _, n := range m.nodes {
		err = errors.Join(err, n.Close())
	}
	m.Cut()
	return err
}

// aborts are the numbers of the errors by which the server refuses a transaction: deadlock, lock wait timeout, lock table
// full, record changed since the snapshot, duplicate key, query interrupted, table changed since the snapshot; TiDB's
// write conflicts.
var aborts = []uint16{1213, 1205, 1206, 1020, 1062, 1317, 1412, 9007, 8002, 8022, 8028}

// lostCodes are the numbers of errors that end the session: shutdown, killed, and Galera's "not yet prepared for
// application use".
var lostCodes = []uint16{1053, 1927, 1152, 1159, 1161, 1047, 1040, 4031}

// Classify uses the error's number.
func (m *server) Classify(err error) driver.Class {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		switch {
		case slices.Contains(aborts, e.Number):
			return driver.Aborted
		case slices.Contains(lostCodes, e.Number):
			return driver.Lost
		case e.Number == 1180: // got error during COMMIT
			return driver.Unclear
		}
		return driver.Fatal
	}
	if dial.Lost(err) || errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err,
		sql.ErrConnDone) || errors.Is(err, mysql.ErrBusyBuffer) {
		return driver.Lost
	}
	return driver.Fatal
}

func (m *server) Connect(ctx context.Context, node int) (driver.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	c, err := m.nodes[node].Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.prepare(ctx, c, nil); err != nil {
		driver.Discard(c)
		return nil, err
	}
	err = driver.SessionSQL(&m.o, driver.ExecOn(ctx, c))
	if err != nil {
		driver.Discard(c)
		return nil, err
	}
	s := &session{c: c, run: c, access: &m.access, wide: m.wide, get: driver.KVGet(m.wide),
		put: driver.KVPut(m.wide, driver.OnKey), add: driver.ListAppend(driver.OnKey)}
	if m.prepared {
		s.run = &driver.Preparing{C: c}
	}
	if len(m.tables) > 0 {
		s.ColumnsSQL = m.columns(driver.AskInts(s.run))
		s.ColumnsSQL.Text = driver.TextOn(context.Background(), c)
	}
	return s, nil
}

// brokenCodes are the numbers of errors about the data: null, duplicate key, foreign keys, checks, values out of range
// or too long, SIGNAL.
var brokenCodes = []uint16{1048, 1062, 1216, 1217, 1264, 1364, 1365, 1366, 1406, 1451, 1452, 1644, 1690, 3819,
	4025}

// broken is Scheme.Broken.
func broken(err error) bool {
	var m *mysql.MySQLError
	return errors.As(err, &m) && slices.Contains(brokenCodes, m.Number)
}

func code(err error) string {
	var m *mysql.MySQLError
	if !errors.As(err, &m) {
		return ""
	}
	return strconv.Itoa(int(m.Number))
}

// hint returns the hint for one of MySQL's two plans. MySQL has no bitmap scans.
func hint(p workload.Plan, index string) string {
	if p == workload.Sequential {
		return " ignore index (" + index + ")"
	}
	return " force index (" + index + ")"
}
