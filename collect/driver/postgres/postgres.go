// Package postgres is the driver of PostgreSQL, and of servers with its protocol: CockroachDB, YugabyteDB, H2.
// dialects.go has the servers' variants of statements, snapshot_order.go timestamps from snapshots.
//
// Experimental: this package may still change.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/collect/driver"
	"isovet/collect/driver/dial"
	"isovet/datasets/workload"
)

func init() { driver.Register(driver.Scheme{Name: "postgres", Broken: broken}, open) }

type server struct {
	o     driver.Options
	d     *dial.Dialer
	cfg   []*pgconn.Config
	info  driver.Info
	data  driver.Data // the last load
	mode  execMode    // of new sessions; asked is the URL's
	asked execMode
	lone  lone
	added []string // statements that remove extensions which Load has added
	ways
}

func open(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	return connect(ctx, urls, iso, o, ways{settings: settings})
}

// connect opens a database. known has the variants of statements that are known beforehand.
func connect(ctx context.Context, urls []string, iso string, o driver.Options, known ways) (driver.DB, error) {
	p := &server{o: o, d: dial.New(o.Timeout), ways: known}
	p.level, p.d.Quick = strings.ReplaceAll(iso, "-", " "), known.pieces
	for i, u := range urls {
		_, rest, _ := strings.Cut(u, ":")
		cfg, err := pgconn.ParseConfig("postgres:" + rest)
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = p.d.Dial
		cfg.RuntimeParams["application_name"] = "isovet"
		if err := p.takeMode(cfg); err != nil {
			return nil, err
		}
		p.cfg = append(p.cfg, cfg)
		p.info.Nodes = append(p.info.Nodes, driver.Node{Name: o.Nodes[i]})
	}
	for i := range p.cfg {
		if err := p.look(ctx, i); err != nil {
			return nil, err
		}
	}
	if o.Timestamps {
		if len(p.cfg) > 1 {
			return nil, driver.Unsupported("timestamps of several nodes; expected one PostgreSQL server, whose " +
				"snapshots alone are ordered")
		}
		if l := p.info.Isolation; l != "repeatable read" && l != "serializable" {
			return nil, driver.Unsupported("timestamps at %s, where every statement has a snapshot of its own; "+
				"expected repeatable-read or serializable", l)
		}
	}
	return p, nil
}

// look asks a node for its product and version.
func (p *server) look(ctx context.Context, node int) error {
	c, err := p.dial(ctx, node)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	n := &p.info.Nodes[node]
	if v, err := ask(c, "select pg_is_in_recovery()"); err == nil {
		n.ReadOnly = v == "t"
	}
	if node > 0 {
		return nil
	}
	if n.ReadOnly {
		return fmt.Errorf("%s is a replica; name the primary first", n.Name)
	}
	if p.info.Version, err = ask(c, "select version()"); err != nil {
		return err
	}
	p.info.Dialect = "postgres"
	p.info.Name = product(p.info.Version, func(q string) string {
		v, _ := ask(c, q) // "" if there is no such function
		return v
	})
	for _, q := range p.settings {
		p.info.Settings = append(p.info.Settings, driver.Setting{SQL: q, Refused: driver.Refusal(run(c, q))})
	}
	if err := p.findBegin(c); err != nil {
		return err
	}
	p.info.Isolation = p.levelInForce(c)
	return nil
}

// settings are settings for each session, if the server accepts them. With the default deadlock_timeout, a second, a
// workload with many deadlocks would hardly progress; only a superuser may set it. For a small table the planner
// prefers a scan of the whole table, which at serializable locks all of it, so that most transactions abort.
var settings = []string{"set deadlock_timeout = '10ms'", "set enable_seqscan = off"}

// dial connects to a node, without the statements of a session.
func (p *server) dial(ctx context.Context, node int) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	return pgconn.ConnectConfig(ctx, p.cfg[node])
}

// run sends statements without arguments.
func run(c *pgconn.PgConn, sql string) error {
	_, err := c.Exec(context.Background(), sql).ReadAll()
	return err
}

// ask returns the first field of the first row that any of the statements returns.
func ask(c *pgconn.PgConn, sql string) (string, error) {
	results, err := c.Exec(context.Background(), sql).ReadAll()
	if err != nil {
		return "", err
	}
	for _, r := range results {
		if len(r.Rows) > 0 && len(r.Rows[0]) > 0 {
			return string(r.Rows[0][0]), nil
		}
	}
	return "", fmt.Errorf("%s: no row", sql)
}

func (p *server) Info() driver.Info { return p.info }

// makes returns the statements that make the tables of a load.
func (p *server) makes(d driver.Data) []string {
	tables := driver.CreateTables(d.Tables, "bigint", "")
	if strings.HasPrefix(p.info.Name, "PostgreSQL") {
		tables = ofKind(planOf(d.Tables), tables)
	}
	return slices.Concat([]string{driver.KVTable(d.Wide, "bigint", p.text()),
		"create table isovet_list(k bigint primary key, val " + p.text() + " not null)"}, tables)
}

// Statements returns the statements that sessions send.
func (p *server) Statements() *driver.Statements {
	return &driver.Statements{Tables: p.makes(p.data), After: append(roomySQL(p.data.Tables), "analyze"),
		Begin: p.begin, Access: p.access, Alone: p.lone.set,
		Wide:    p.data.Wide,
		Columns: *p.columns(nil)}
}

// columns returns the access to tables with columns.
func (p *server) columns(ask func(string, func([]int64) error) error) *driver.ColumnsSQL {
	return &driver.ColumnsSQL{Tables: p.data.Tables, Ask: ask, Upsert: p.upsert, Lock: p.lock, Share: p.share,
		Tells: p.tells, And: p.tidRange()}
}
func (p *server) Cut() { p.d.Cut() }

func (p *server) Partition(node int, off bool) bool {
	_, addr := pgconn.NetworkAddress(p.cfg[node].Host, p.cfg[node].Port)
	p.d.Partition(addr, off)
	return true
}

func (p *server) Load(ctx context.Context, d driver.Data) error {
	c, err := p.dial(ctx, 0)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	p.data = d
	p.info.Settings = p.info.Settings[:len(p.settings):len(p.settings)]
	for _, q := range planSettings(planOf(d.Tables)) {
		if !slices.Contains(p.settings, q) {
			p.info.Settings = append(p.info.Settings, driver.Setting{SQL: q, Refused: driver.Refusal(run(c, q))})
		}
	}
	if x := extension(planOf(d.Tables)); x != "" {
		if n, _ := ask(c, "select count(*) from pg_extension where extname = '"+x+"'"); n == "0" {
			p.added = append(p.added, "drop extension if exists "+x)
		}
	}
	for _, q := range slices.Concat([]string{driver.DropAll()}, p.makes(d)) {
		if err := run(c, q); err != nil {
			return err
		}
	}
	if err := p.fill(ctx, c, d); err != nil {
		return err
	}
	if err := p.findUpsert(c, d); err != nil {
		return err
	}
	if err := p.findAccess(c); err != nil {
		return err
	}
	p.tells, err = driver.FindTelling(d.Tables, func(q string) error { return run(c, q) },
		func(q string) (string, error) { return ask(c, q) }, p.begin, refused)
	if err != nil {
		return err
	}
	if err := p.findLone(c); err != nil {
		return err
	}
	if err := driver.SetupSQL(&p.o, func(q string) error { return run(c, q) }); err != nil {
		return err
	}
	_ = run(c, "analyze") // some servers have no such statement
	for i := 1; i < len(p.cfg); i++ {
		if err := p.await(ctx, i, d.Mark); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a node shows the load.
func (p *server) await(ctx context.Context, node int, mark int64) error {
	c, err := p.dial(ctx, node)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	want := strconv.FormatInt(mark, 10)
	err = dial.Until(ctx, 30*time.Second, func() error {
		got, err := ask(c, fmt.Sprintf("select u from isovet_kv where k = %d", int64(driver.MarkKey)))
		if err == nil && got != want {
			err = errors.New("it shows the rows of an earlier load")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("node %s does not show the loaded rows on %s: %w", p.info.Nodes[node].Name,
			p.info.Nodes[0].Name, err)
	}
	return nil
}

func (p *server) Close() error {
	p.Cut()
	ctx, cancel := context.WithTimeout(context.Background(), p.o.Timeout)
	defer cancel()
	c, err := p.dial(ctx, 0)
	if err != nil {
		return err
	}
	return errors.Join(run(c, strings.Join(append([]string{driver.DropAll()}, p.added...), ";")), c.Close(ctx))
}

// aborts are the codes by which the server refuses a transaction: serialization failure, deadlock, lock not available,
// a statement cancelled, a key inserted twice; H2's lock time-out and row changed since the snapshot.
var aborts = []string{"40001", "40P01", "55P03", "57014", "23505", "40002", "40000",
	"HYT00", "90131"}

// Classify uses the error's code (PostgreSQL manual, appendix A).
func (p *server) Classify(err error) driver.Class {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch {
		case slices.Contains(aborts, e.Code):
			return driver.Aborted
		case e.Code == "40003": // statement completion unknown; CockroachDB's "result is ambiguous"
			return driver.Unclear
		case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "08"), e.Code == "90067", e.Code == "90098":
			return driver.Lost
		case e.Code == "XX000":
			return yugabyteClass(e.Message)
		case e.Code == "HY000" && strings.Contains(e.Message, "Transaction was illegally transitioned"):
			return driver.Lost // an internal error of H2 that ends only this session
		}
		return driver.Fatal
	}
	var connect *pgconn.ConnectError
	if dial.Lost(err) || errors.As(err, &connect) || pgconn.SafeToRetry(err) || strings.Contains(err.Error(),
		"conn closed") {
		return driver.Lost
	}
	return driver.Fatal
}

func (p *server) Connect(ctx context.Context, node int) (driver.Session, error) {
	c, err := p.dial(ctx, node)
	if err != nil {
		return nil, err
	}
	for _, q := range slices.Concat(p.settings, planSettings(planOf(p.data.Tables))) {
		_ = run(c, q) // look and Load have noted a refusal
	}
	for _, q := range p.session {
		if err := run(c, q); err != nil {
			c.Close(ctx)
			return nil, err
		}
	}
	s := &session{p: p, c: c, mode: p.mode}
	if err := s.prepare(ctx, p.statements(p.data)); err != nil {
		c.Close(ctx)
		return nil, err
	}
	if err := driver.SessionSQL(&p.o, func(q string) error { return run(c, q) }); err != nil {
		c.Close(ctx)
		return nil, err
	}
	if len(p.data.Tables) > 0 {
		s.ColumnsSQL = p.columns(s.askInts)
	}
	return s, nil
}

type session struct {
	*driver.ColumnsSQL // nil if there are no tables with columns
	p                  *server
	c                  *pgconn.PgConn
	stamp              driver.Stamp
	num                [3][24]byte
	args               [4][]byte
	mode               execMode
	told               bool // Autocommit has sent its setting
	sender
}

func (s *session) arg(i int, n int64) { s.args[i] = strconv.AppendInt(s.num[i][:0], n, 10) }

func (s *session) Begin() error { return s.BeginAs(workload.ReadWrite) }

func (s *session) BeginAs(a workload.Access) error {
	s.stamp = driver.Stamp{Start: driver.NoTime, Commit: driver.NoTime}
	begin := s.p.access.Or(a, s.p.begin)
	if !s.p.o.Timestamps {
		return run(s.c, begin)
	}
	var err error // one message, since a second one would cost a round trip
	s.stamp.Snapshot, err = ask(s.c, begin+"; select pg_current_snapshot()::text")
	return err
}

func (s *session) Get(key int64, lock bool) (r driver.Row, found bool, err error) {
	name := "get"
	if lock {
		name = "lock"
	}
	s.arg(0, key)
	err = s.exec(name, 1, func(v [][]byte) (err error) {
		found = true
		if r, err = sqlRow(v[0], v[1]); err == nil && len(v) > 2 && v[2] != nil {
			r.Wide, err = driver.ParseList([]int64{}, string(v[2]))
		}
		return err
	})
	return r, found, err
}

func sqlRow(u, p []byte) (r driver.Row, err error) {
	if r.Version, err = strconv.ParseInt(string(u), 10, 64); err != nil {
		return r, err
	}
	if r.Dead = p == nil; !r.Dead {
		r.Payload, err = strconv.ParseInt(string(p), 10, 64)
	}
	return r, err
}

func (s *session) Put(key int64, r driver.Row) error {
	s.arg(0, key)
	s.arg(1, r.Version)
	s.arg(2, r.Payload)
	if r.Dead {
		s.args[2] = nil
	}
	n := 3
	if s.p.data.Wide {
		n, s.args[3] = 4, nil
		if r.Wide != nil {
			s.args[3] = driver.AppendList([]byte{}, r.Wide)
		}
	}
	return s.write("put", "lock", n)
}

// write runs the statement that inserts or overwrites a row. If the server has none, it first looks whether the row
// exists.
func (s *session) write(name, look string, args int) error {
	if s.p.upsert == driver.LookFirst {
		found := false
		if err := s.exec(look, 1, func([][]byte) error { found = true; return nil }); err != nil {
			return err
		}
		if !found {
			name += " new"
		}
	}
	return s.exec(name, args, func([][]byte) error { return nil })
}

func (s *session) Append(key, element int64) error {
	s.arg(0, key)
	s.arg(1, element)
	return s.write("append", "lock list", 2)
}

func (s *session) List(dst []int64, key int64) (_ []int64, found bool, err error) {
	s.arg(0, key)
	err = s.exec("list", 1, func(v [][]byte) (err error) {
		found = true
		dst, err = driver.ParseList(dst, string(v[0]))
		return err
	})
	return dst, found, err
}

func (s *session) Commit() error {
	commit := "commit"
	if s.p.o.Timestamps {
		commit = "select coalesce(pg_current_xact_id_if_assigned()::text, '0'); commit"
	}
	tags, err := s.c.Exec(context.Background(), commit).ReadAll()
	if s.p.o.Timestamps {
		if len(tags) > 0 && len(tags[0].Rows) > 0 {
			s.stamp.XID, _ = strconv.ParseUint(string(tags[0].Rows[0][0]), 10, 64) // PostgreSQL's own number
			tags = tags[1:]
		} else if errors.As(err, new(*pgconn.PgError)) {
			return driver.NotSent(err) // the select was refused, so the server has left out the commit
		}
	}
	if err != nil {
		return err
	}
	if len(tags) > 0 && tags[0].CommandTag.String() == "ROLLBACK" {
		return &pgconn.PgError{Code: "40000", Message: "the commit was answered with a rollback"}
	}
	return nil
}

func (s *session) Rollback() error   { return run(s.c, "rollback") }
func (s *session) Savepoint() error  { return run(s.c, driver.SavepointSQL) }
func (s *session) RollbackTo() error { return run(s.c, driver.RollbackToSQL) }

func (s *session) Stamp() driver.Stamp { return s.stamp }

func (s *session) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.c.Close(ctx) // nothing depends on how a connection ends
}
