//go:build !offline

package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/datasets/workload"
	"isovet/level"
)

func init() {
	register(Scheme{
		Name:  "postgres",
		URLs:  []string{"postgres", "postgresql", "cockroachdb", "cockroach", "yugabyte", "yugabytedb"},
		About: "PostgreSQL and what speaks its protocol: CockroachDB, YugabyteDB",
		Isolations: []string{
			"default",
			"serializable=ser=session-serializable",
			"repeatable-read=rr=snapshot-isolation=si=snapshot=session-snapshot-isolation",
			"read-committed=rc",
			"read-uncommitted=ru",
		},
		SQL:      true,
		Promises: postgresPromises,
		open:     openPostgres,
	})
}

// postgresPromises are the documentation's words as levels.
var postgresPromises = []Promise{
	{"PostgreSQL", "read-uncommitted", []level.Level{level.ReadCommitted}, "PostgreSQL manual, 13.2, table 13.1: " +
		"read uncommitted behaves like read committed", nil},
	{"PostgreSQL", "read-committed", []level.Level{level.ReadCommitted}, "PostgreSQL manual, 13.2.1", nil},
	{"PostgreSQL", "repeatable-read", []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation},
		"PostgreSQL manual, 13.2.2: snapshot isolation", nil},
	{"PostgreSQL", "serializable", []level.Level{level.Serializable, level.SessionSnapshotIsolation},
		"PostgreSQL manual, 13.2.3: consistent with some serial order", nil},
}

type postgres struct {
	o     Options
	d     *dialer
	cfg   []*pgconn.Config
	info  Info
	data  Data     // what was loaded last
	mode  execMode // of sessions that are opened; asked is that of the URL
	asked execMode
	lone  lone
	ways
}

func openPostgres(ctx context.Context, urls []string, iso string, o Options) (DB, error) {
	return connectPostgres(ctx, urls, iso, o, ways{settings: postgresSettings})
}

// connectPostgres opens a database of whose ways something is known.
func connectPostgres(ctx context.Context, urls []string, iso string, o Options, known ways) (DB, error) {
	p := &postgres{o: o, d: newDialer(o.Timeout), ways: known}
	p.level, p.d.quick = strings.ReplaceAll(iso, "-", " "), known.pieces
	for i, u := range urls {
		_, rest, _ := strings.Cut(u, ":")
		cfg, err := pgconn.ParseConfig("postgres:" + rest)
		if err != nil {
			return nil, err
		}
		cfg.DialFunc = p.d.dial
		cfg.RuntimeParams["application_name"] = "isovet"
		if err := p.takeMode(cfg); err != nil {
			return nil, err
		}
		p.cfg = append(p.cfg, cfg)
		p.info.Nodes = append(p.info.Nodes, Node{Name: o.Nodes[i]})
	}
	for i := range p.cfg {
		if err := p.look(ctx, i); err != nil {
			return nil, err
		}
	}
	if o.Timestamps {
		if len(p.cfg) > 1 {
			return nil, unsupported("timestamps of several nodes; expected one PostgreSQL server, whose snapshots " +
				"alone are ordered")
		}
		if l := p.info.Isolation; l != "repeatable read" && l != "serializable" {
			return nil, unsupported("timestamps at %s, where every statement has a snapshot of its own; expected "+
				"repeatable-read or serializable", l)
		}
	}
	return p, nil
}

// look asks a node what it is.
func (p *postgres) look(ctx context.Context, node int) error {
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
		return fmt.Errorf("%s is a replica; expected the primary first", n.Name)
	}
	if p.info.Version, err = ask(c, "select version()"); err != nil {
		return err
	}
	p.info.Dialect = "postgres"
	p.info.Name = postgresProduct(p.info.Version, func(q string) string {
		v, _ := ask(c, q) // "" where there is no such function
		return v
	})
	for _, q := range p.settings {
		p.info.Settings = append(p.info.Settings, Setting{SQL: q, Refused: refusal(run(c, q))})
	}
	if err := p.findBegin(c); err != nil {
		return err
	}
	p.info.Isolation = p.levelInForce(c)
	return nil
}

// postgresSettings are what a session sets where the server lets it. With the default deadlock_timeout of a second a
// workload that deadlocks often hardly moves; only a superuser may set it. A scan of the whole table, which is the plan
// for a small one, locks the whole table's predicate, and nearly everything aborts.
var postgresSettings = []string{"set deadlock_timeout = '10ms'", "set enable_seqscan = off"}

// dial connects to a node, without the statements of a session.
func (p *postgres) dial(ctx context.Context, node int) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	return pgconn.ConnectConfig(ctx, p.cfg[node])
}

// run sends statements without arguments.
func run(c *pgconn.PgConn, sql string) error {
	_, err := c.Exec(context.Background(), sql).ReadAll()
	return err
}

// ask returns the first field of the first row that any of the statements gives.
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

func (p *postgres) Info() Info { return p.info }

// makes are the statements that make the tables of a load.
func (p *postgres) makes(d Data) []string {
	return slices.Concat([]string{kvTable(d.Wide, "bigint", p.text()),
		"create table isovet_list(k bigint primary key, val " + p.text() + " not null)"},
		createTables(d.Tables, "bigint", ""))
}

// Statements says what sessions send.
func (p *postgres) Statements() *Statements {
	return &Statements{Tables: p.makes(p.data), Begin: p.begin, access: p.access, alone: p.lone.set, wide: p.data.Wide,
		columns: *p.columns(nil)}
}

// columns is how sessions speak to tables with columns.
func (p *postgres) columns(ask func(string, func([]int64) error) error) *columnsSQL {
	return &columnsSQL{tables: p.data.Tables, ask: ask, upsert: p.upsert, lock: p.lock, share: p.share,
		tells: p.tells}
}
func (p *postgres) Cut() { p.d.cut() }

func (p *postgres) Partition(node int, off bool) bool {
	_, addr := pgconn.NetworkAddress(p.cfg[node].Host, p.cfg[node].Port)
	p.d.partition(addr, off)
	return true
}

func (p *postgres) Load(ctx context.Context, d Data) error {
	c, err := p.dial(ctx, 0)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	p.data = d
	p.info.Settings = p.info.Settings[:len(p.settings):len(p.settings)]
	for _, q := range planSettings(planOf(d.Tables)) {
		p.info.Settings = append(p.info.Settings, Setting{SQL: q, Refused: refusal(run(c, q))})
	}
	for _, q := range slices.Concat(dropTables(), p.makes(d)) {
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
	p.tells, err = findTelling(d.Tables, func(q string) error { return run(c, q) },
		func(q string) (string, error) { return ask(c, q) }, p.begin, refused)
	if err != nil {
		return err
	}
	if err := p.findLone(c); err != nil {
		return err
	}
	if err := setupSQL(&p.o, func(q string) error { return run(c, q) }); err != nil {
		return err
	}
	_ = run(c, "analyze") // not all that speak the protocol have it
	for i := 1; i < len(p.cfg); i++ {
		if err := p.await(ctx, i, d.Mark); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a node shows what was loaded.
func (p *postgres) await(ctx context.Context, node int, mark int64) error {
	c, err := p.dial(ctx, node)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	want := strconv.FormatInt(mark, 10)
	err = until(ctx, 30*time.Second, func() error {
		got, err := ask(c, fmt.Sprintf("select u from isovet_kv where k = %d", int64(markKey)))
		if err == nil && got != want {
			err = errors.New("it shows an older load")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("node %s does not show what was loaded on %s: %w", p.info.Nodes[node].Name,
			p.info.Nodes[0].Name, err)
	}
	return nil
}

func (p *postgres) Close() error {
	p.Cut()
	ctx, cancel := context.WithTimeout(context.Background(), p.o.Timeout)
	defer cancel()
	c, err := p.dial(ctx, 0)
	if err != nil {
		return err
	}
	for _, q := range dropTables() {
		err = errors.Join(err, run(c, q))
	}
	return errors.Join(err, c.Close(ctx))
}

// aborts are the codes of errors after which the transaction has had no effect and may be tried again: serialization
// failure, deadlock, lock not available, a statement cancelled, a key inserted twice; H2's lock time-out and row
// changed since the snapshot.
var postgresAborts = []string{"40001", "40P01", "55P03", "57014", "23505", "40002", "40000",
	"HYT00", "90131"}

// Classify goes by the error's code (PostgreSQL manual, appendix A).
func (p *postgres) Classify(err error) Class {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch {
		case slices.Contains(postgresAborts, e.Code):
			return Aborted
		case e.Code == "40003": // statement completion unknown; CockroachDB's "result is ambiguous"
			return Unclear
		case strings.HasPrefix(e.Code, "57P"), strings.HasPrefix(e.Code, "08"), e.Code == "90067", e.Code == "90098":
			return Lost
		case e.Code == "XX000":
			return yugabyteClass(e.Message)
		case e.Code == "HY000" && strings.Contains(e.Message, "Transaction was illegally transitioned"):
			return Lost // an internal error of H2, of this session alone: another one can go on
		}
		return Fatal
	}
	var connect *pgconn.ConnectError
	if lost(err) || errors.As(err, &connect) || pgconn.SafeToRetry(err) || strings.Contains(err.Error(),
		"conn closed") {
		return Lost
	}
	return Fatal
}

func (p *postgres) Connect(ctx context.Context, node int) (Session, error) {
	c, err := p.dial(ctx, node)
	if err != nil {
		return nil, err
	}
	for _, q := range slices.Concat(p.settings, planSettings(planOf(p.data.Tables))) {
		_ = run(c, q) // look and Load have noted who refuses
	}
	for _, q := range p.session {
		if err := run(c, q); err != nil {
			c.Close(ctx)
			return nil, err
		}
	}
	s := &postgresSession{p: p, c: c, mode: p.mode}
	if err := s.prepare(ctx, p.statements(p.data)); err != nil {
		c.Close(ctx)
		return nil, err
	}
	if err := sessionSQL(&p.o, func(q string) error { return run(c, q) }); err != nil {
		c.Close(ctx)
		return nil, err
	}
	if len(p.data.Tables) > 0 {
		s.columnsSQL = p.columns(s.askInts)
	}
	return s, nil
}

type postgresSession struct {
	*columnsSQL // nil without tables with columns
	p           *postgres
	c           *pgconn.PgConn
	stamp       Stamp
	num         [3][24]byte
	args        [4][]byte
	mode        execMode
	told        bool // Autocommit has made its setting
	sender
}

// arg writes an integer argument.
func (s *postgresSession) arg(i int, n int64) { s.args[i] = strconv.AppendInt(s.num[i][:0], n, 10) }

func (s *postgresSession) Begin() error { return s.BeginAs(workload.ReadWrite) }

func (s *postgresSession) BeginAs(a workload.Access) error {
	s.stamp = Stamp{Start: NoTime, Commit: NoTime}
	if err := run(s.c, s.p.access.or(a, s.p.begin)); err != nil || !s.p.o.Timestamps {
		return err
	}
	var err error
	s.stamp.Snapshot, err = ask(s.c, "select pg_current_snapshot()::text")
	return err
}

func (s *postgresSession) Get(key int64, lock bool) (r Row, found bool, err error) {
	name := "get"
	if lock {
		name = "lock"
	}
	s.arg(0, key)
	err = s.exec(name, 1, func(v [][]byte) (err error) {
		found = true
		if r, err = sqlRow(v[0], v[1]); err == nil && len(v) > 2 && v[2] != nil {
			r.Wide, err = parseList([]int64{}, string(v[2]))
		}
		return err
	})
	return r, found, err
}

// sqlRow reads the columns u and p.
func sqlRow(u, p []byte) (r Row, err error) {
	if r.Version, err = strconv.ParseInt(string(u), 10, 64); err != nil {
		return r, err
	}
	if r.Dead = p == nil; !r.Dead {
		r.Payload, err = strconv.ParseInt(string(p), 10, 64)
	}
	return r, err
}

func none([][]byte) error { return nil }

func (s *postgresSession) Put(key int64, r Row) error {
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
			s.args[3] = appendList([]byte{}, r.Wide)
		}
	}
	return s.write("put", "lock", n)
}

// write runs a statement that inserts or overwrites; where there is none, it looks for the row first.
func (s *postgresSession) write(name, look string, args int) error {
	if s.p.upsert == lookFirst {
		found := false
		if err := s.exec(look, 1, func([][]byte) error { found = true; return nil }); err != nil {
			return err
		}
		if !found {
			name += " new"
		}
	}
	return s.exec(name, args, none)
}

func (s *postgresSession) Append(key, element int64) error {
	s.arg(0, key)
	s.arg(1, element)
	return s.write("append", "lock list", 2)
}

func (s *postgresSession) List(dst []int64, key int64) (_ []int64, found bool, err error) {
	s.arg(0, key)
	err = s.exec("list", 1, func(v [][]byte) (err error) {
		found = true
		dst, err = parseList(dst, string(v[0]))
		return err
	})
	return dst, found, err
}

func (s *postgresSession) Commit() error {
	if s.p.o.Timestamps {
		v, err := ask(s.c, "select coalesce(pg_current_xact_id_if_assigned()::text, '0')")
		if err != nil {
			return notSent{err}
		}
		if s.stamp.XID, err = strconv.ParseUint(v, 10, 64); err != nil {
			return notSent{err}
		}
	}
	tags, err := s.c.Exec(context.Background(), "commit").ReadAll()
	if err != nil {
		return err
	}
	if len(tags) > 0 && tags[0].CommandTag.String() == "ROLLBACK" {
		return &pgconn.PgError{Code: "40000", Message: "the commit was answered with a rollback"}
	}
	return nil
}

func (s *postgresSession) Rollback() error   { return run(s.c, "rollback") }
func (s *postgresSession) Savepoint() error  { return run(s.c, savepoint) }
func (s *postgresSession) RollbackTo() error { return run(s.c, rollbackTo) }

func (s *postgresSession) Stamp() Stamp { return s.stamp }

func (s *postgresSession) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.c.Close(ctx) // nothing depends on how a connection ends
}
