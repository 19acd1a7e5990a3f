package proxy_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/internal/test/tlstest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/proxy"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// postgres is the address of a PostgreSQL.
func postgres(t *testing.T) *url.URL {
	t.Helper()
	return must.Get(url.Parse(sqltest.Postgres(t)))(t)
}

// start starts a proxy, and returns the address of the database through it.
func start(t *testing.T, direct *url.URL, o proxy.Options) string {
	t.Helper()
	o.OnError = func(err error) { t.Error(err) }
	return startWith(t, direct, o)
}

func startWith(t *testing.T, direct *url.URL, o proxy.Options) string {
	t.Helper()
	config := must.Get(pgx.ParseConfig(direct.String()))(t)
	o.Network, o.Server = pgconn.NetworkAddress(config.Host, config.Port)
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := proxy.New(o)
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		must.OK(t, <-done)
	})
	through := *direct
	through.Host = ln.Addr().String()
	q := through.Query()
	q.Del("host")
	through.RawQuery = q.Encode()
	return through.String()
}

func with(u, parameter string) string {
	return u + map[bool]string{true: "&", false: "?"}[strings.Contains(u, "?")] + parameter
}

func withMode(u, mode string) string { return with(u, "default_query_exec_mode="+mode) }

// TestOneClient: scenarios through the proxy, in each of the ways in which pgx sends statements. In the gate each way
// has some of them.
func TestOneClient(t *testing.T) {
	direct := postgres(t)
	for i, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			scenarios := sqltest.Scenarios(i)
			if !histtest.Long(false, true) { // the others of the package's tests have the rest
				scenarios = scenarios[i*len(scenarios)/5 : (i+1)*len(scenarios)/5]
			}
			yes, all := sqltest.OneClient(t, scenarios, func(t *testing.T, rec *record.Recorder) sqltest.Client {
				log := &sqlstmt.Log{Rec: rec}
				plain, err := sql.Open("pgx", withMode(direct.String(), mode))
				db, err2 := sql.Open("pgx", withMode(start(t, direct, proxy.Options{Log: log}), mode))
				must.OK(t, errors.Join(err, err2))
				return sqltest.Client{Plain: plain, Recorded: db, Stats: log.Stats}
			})
			t.Logf("%d of %d statements are understood", yes, all)
		})
	}
}

// judge checks what was recorded at some levels: the anomaly that is expected; "": none.
func judge(t *testing.T, rec *record.Recorder, want map[level.Level]string) {
	t.Helper()
	h := must.Get(rec.History())(t)
	for l, kind := range want {
		r := must.Get(isovettest.Run(t.Context(), h, isovettest.Options{Level: l}))(t)
		got := ""
		if r.Verdict == evidence.Violated {
			got = string(r.Anomalies[0].Kind)
		}
		if got != kind || r.Verdict == evidence.Unknown {
			var text strings.Builder
			_ = jsonl.Write(&text, h)
			t.Errorf("%v: %v %s %+v; expected %q\n%.3000s", l, r.Verdict, r.Reason, r.Anomalies, kind, text.String())
		}
	}
}

// TestLostUpdate: two clients read a row, and both write it. At READ COMMITTED that is a lost update, which is named by
// the SQL of the two; at the other levels PostgreSQL refuses the second.
func TestLostUpdate(t *testing.T) {
	direct := postgres(t)
	for isolation, kind := range map[string]string{"READ COMMITTED": "lost-update", "REPEATABLE READ": ""} {
		t.Run(isolation, func(t *testing.T) {
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			address := start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec}})
			a, b := connect(t, address), connect(t, address)
			ctx := t.Context()
			do(t, a, fresh...)
			for _, q := range []string{"BEGIN ISOLATION LEVEL " + isolation,
				"SELECT balance FROM accounts WHERE id = 1",
				"UPDATE accounts SET balance = 90 WHERE id = 1", "COMMIT"} {
				for _, c := range []*pgx.Conn{a, b} {
					if _, err := c.Exec(ctx, q); err != nil && !sqlstmt.Aborted(err) && kind != "" {
						t.Fatal(err)
					}
					if c == a && strings.HasPrefix(q, "UPDATE") {
						must.Get(a.Exec(ctx, "COMMIT"))(t)
					}
				}
			}
			judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.SnapshotIsolation: kind})
		})
	}
}

// TestTimeLimit: a time limit that may end the program's statements does not end the proxy's own questions.
func TestTimeLimit(t *testing.T) {
	log := &sqlstmt.Log{Rec: isovettest.Recorder(t, record.Options{})}
	address := start(t, postgres(t), proxy.Options{Log: log})
	must.Get(connect(t, address).Exec(t.Context(), "CREATE TABLE IF NOT EXISTS limited (id int PRIMARY KEY)"))(t)
	for i, b := 0, connect(t, address); i < 20 && log.Stats().Understood == 0; i++ {
		_ = simple(t.Context(), b, "SET statement_timeout = 2") + simple(t.Context(), b, "SELECT * FROM limited")
	}
	must.Equal(t, log.Stats().Understood > 0, true, "%v", log.Stats())
}

// TestEight: eight clients at once. PostgreSQL keeps what it promises at each level.
func TestEight(t *testing.T) {
	histtest.OnlyLong(t)
	direct := postgres(t)
	for _, mode := range []string{"cache_statement", "simple_protocol"} {
		for isolation, want := range map[sql.IsolationLevel][]level.Level{
			sql.LevelReadCommitted:  {level.ReadCommitted},
			sql.LevelRepeatableRead: {level.SnapshotIsolation, level.Serializable},
			sql.LevelSerializable:   {level.SnapshotIsolation, level.StrictSerializable},
		} {
			t.Run(mode+" "+isolation.String(), func(t *testing.T) {
				rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
				log := &sqlstmt.Log{Rec: rec}
				db := must.Get(sql.Open("pgx", withMode(start(t, direct, proxy.Options{Log: log}), mode)))(t)
				defer db.Close()
				sqltest.Fresh(t, db, nil)
				var all sync.WaitGroup
				for c := range 8 {
					random := rand.New(rand.NewPCG(uint64(c), 7))
					all.Go(func() {
						for range 30 {
							err := decrement(t.Context(), db, isolation, 1+random.IntN(3))
							if err != nil && !sqlstmt.Aborted(err) {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
				t.Logf("%+v; %v", rec.Stats(), log.Stats())
				for _, l := range want { // each transaction writes the row that it reads
					judge(t, rec, map[level.Level]string{l: ""})
				}
			})
		}
	}
}

func decrement(ctx context.Context, db *sql.DB, isolation sql.IsolationLevel, id int) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
	if err != nil {
		return err
	}
	balance := 0
	err = tx.QueryRow("SELECT balance FROM accounts WHERE id = $1", id).Scan(&balance)
	if err == nil {
		_, err = tx.Exec("UPDATE accounts SET balance = $1 WHERE id = $2", balance-1, id)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// TestTLS: a program that asks for TLS gets the proxy's, and logs in; one that does not goes on in the clear.
func TestTLS(t *testing.T) {
	direct := postgres(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	tlstest.Certificate(t, cert, key)
	pair := must.Get(tls.LoadX509KeyPair(cert, key))(t)
	rec := isovettest.Recorder(t, record.Options{})
	address := start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec},
		ClientTLS: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}})
	for mode, encrypted := range map[string]bool{"require": true, "disable": false} {
		c := connect(t, with(address, "sslmode="+mode))
		_, is := c.PgConn().Conn().(*tls.Conn)
		must.Equal(t, is, encrypted, "sslmode=%s: encrypted", mode)
		n := 0
		must.OK(t, c.QueryRow(t.Context(), "SELECT count(*) FROM pg_class").Scan(&n), mode)
		must.Equal(t, n > 0, true, "sslmode=%s: %d", mode, n)
	}
}
