package recordsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/pgx"
	"isovet/record/sql"
)

var pgxAccounts = recordpgx.Table{Name: "accounts", Key: "id", Version: "v", Ranges: true}

// start starts a PostgreSQL of its own, and returns its address.
func start(t *testing.T) string {
	t.Helper()
	if os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("NOT RUN: ISOVET_SERVERS=1 asks for PostgreSQL")
	}
	c := must.Get(server.Start(t.Context(), "postgres:start"))(t)
	t.Cleanup(func() { must.OK(t, c.Close()) })
	return c.URLs[0]
}

// load makes the table anew.
func load(t *testing.T, url string) {
	t.Helper()
	c := must.Get(pgx.Connect(t.Context(), url))(t)
	defer c.Close(context.Background())
	for _, q := range []string{"DROP TABLE IF EXISTS accounts", "CREATE TABLE accounts (id int PRIMARY KEY, v bigint)",
		"INSERT INTO accounts SELECT i, i FROM generate_series(1, 5) i"} {
		must.Get(c.Exec(t.Context(), q))(t)
	}
}

// initial tells the recorder what load has made.
func initial(t *testing.T, rec *record.Recorder) {
	t.Helper()
	for i := 1; i <= 5; i++ {
		row := map[string]any{"table": "accounts", "id": i, "v": i}
		must.OK(t, rec.Initial(fmt.Sprint("accounts/", i), row))
	}
}

// clients runs one from several goroutines.
func clients(t *testing.T, each int, one func(random *rand.Rand, unique *atomic.Int64) error) {
	t.Helper()
	var unique atomic.Int64
	unique.Store(100)
	var all sync.WaitGroup
	for c := range 6 {
		random := rand.New(rand.NewPCG(uint64(c), 5))
		all.Go(func() {
			for range each {
				if err := one(random, &unique); err != nil && !recordpgx.Aborted(err) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// gone is how many of three kinds of writes are left out. At repeatable read PostgreSQL lets an upsert insert a row
// that its snapshot has and another transaction has deleted since: two concurrent writers of a row both commit, which
// snapshot isolation forbids, and which this test found. So nothing is deleted there.
var gone = map[level.Level]int{level.SnapshotIsolation: 1}

// drain reads all rows.
func drain(rows *sql.Rows, err error) error {
	for err == nil && rows.Next() {
	}
	if err == nil {
		err = errors.Join(rows.Err(), rows.Close())
	}
	return err
}

// viaPgx is a program on pgx.
func viaPgx(t *testing.T, url string, rec *record.Recorder, at level.Level) {
	gone, l := gone[at], map[level.Level]pgx.TxIsoLevel{level.Serializable: pgx.Serializable,
		level.SnapshotIsolation: pgx.RepeatableRead}[at]
	trace := recordpgx.New(rec, pgxAccounts)
	config := must.Get(pgxpool.ParseConfig(url))(t)
	config.ConnConfig.Tracer = trace
	pool := must.Get(pgxpool.NewWithConfig(t.Context(), config))(t)
	defer pool.Close()
	clients(t, 60, func(random *rand.Rand, unique *atomic.Int64) error {
		a, b := 1+random.IntN(7), 1+random.IntN(7)
		return pgx.BeginTxFunc(t.Context(), pool, pgx.TxOptions{IsoLevel: l}, func(tx pgx.Tx) error {
			var id int32
			var v int64
			err := trace.QueryRow(t.Context(), tx, "SELECT v FROM accounts WHERE id = $1", a).Scan(&v)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			rows, err := trace.Query(t.Context(), tx, "SELECT id, v FROM accounts WHERE id >= $1", b)
			if err != nil {
				return err
			}
			if _, err := pgx.ForEachRow(rows, []any{&id, &v}, func() error { return nil }); err != nil {
				return err
			}
			switch n := unique.Add(1); gone + random.IntN(3-gone) {
			case 0:
				_, err = tx.Exec(t.Context(), "DELETE FROM accounts WHERE id = $1", b)
			case 1:
				_, err = tx.Exec(t.Context(), "INSERT INTO accounts (id, v) VALUES ($1, $2) "+
					"ON CONFLICT (id) DO UPDATE SET v = excluded.v", b, n)
			default:
				_, err = tx.Exec(t.Context(), "UPDATE accounts SET v = @v WHERE id = @id",
					pgx.NamedArgs{"v": n, "id": b})
			}
			return err
		})
	})
	s := trace.Stats()
	must.Equal(t, len(s.NotUnderstood) == 0 && s.Understood >= 300, true, "%v", s)
}

// viaSQL is the same on database/sql.
func viaSQL(t *testing.T, url string, rec *record.Recorder, at level.Level) {
	gone, l := gone[at], map[level.Level]sql.IsolationLevel{level.Serializable: sql.LevelSerializable,
		level.SnapshotIsolation: sql.LevelRepeatableRead}[at]
	log := recordsql.New(rec, pgxAccounts)
	db := must.Get(log.Open("pgx", url))(t)
	defer db.Close()
	clients(t, 60, func(random *rand.Rand, unique *atomic.Int64) error {
		a, b := 1+random.IntN(7), 1+random.IntN(7)
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: l})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var v int64
		err = tx.QueryRow("SELECT v FROM accounts WHERE id = $1", a).Scan(&v)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := drain(tx.Query("SELECT id, v FROM accounts WHERE id >= $1 FOR SHARE", b)); err != nil {
			return err
		}
		switch n := unique.Add(1); gone + random.IntN(3-gone) {
		case 0:
			_, err = tx.Exec("DELETE FROM accounts WHERE id = $1", b)
		case 1:
			_, err = tx.Exec("INSERT INTO accounts (id, v) VALUES ($1, $2) "+
				"ON CONFLICT (id) DO UPDATE SET v = excluded.v", b, n)
		default:
			err = drain(tx.Query("UPDATE accounts SET v = v + 100000 WHERE id = $1 RETURNING id, v", b))
		}
		if err != nil {
			return err
		}
		return tx.Commit()
	})
	s := log.Stats()
	must.Equal(t, len(s.NotUnderstood) == 0 && s.Understood >= 300, true, "%v", s)
}

// TestPgxPostgres: a program with reads of rows, of ranges and of what is not there, writes and deletes, recorded by
// the tracer and by the wrapper: serializable where PostgreSQL was asked for that, and snapshots where for repeatable
// read.
func TestPgxPostgres(t *testing.T) {
	url := start(t)
	for name, run := range map[string]func(*testing.T, string, *record.Recorder, level.Level){"pgx": viaPgx,
		"database-sql": viaSQL} {
		for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
			t.Run(fmt.Sprintf("%s/%v", name, l), func(t *testing.T) {
				load(t, url)
				rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}, Promised: &l})
				initial(t, rec)
				run(t, url, rec, l)
				s := rec.Stats()
				must.Equal(t, s.Committed >= 60 && s.Unknown == 0, true, "%+v", s)
				isovettest.Check(t, rec, l)
			})
		}
	}
}

// TestPgxReadCommitted: where lost updates are allowed, the recording shows one.
func TestPgxReadCommitted(t *testing.T) {
	url := start(t)
	load(t, url)
	rec := record.New(record.Options{})
	initial(t, rec)
	trace := recordpgx.New(rec, pgxAccounts)
	config := must.Get(pgx.ParseConfig(url))(t)
	config.Tracer = trace
	var txs [2]pgx.Tx
	for i := range txs {
		c := must.Get(pgx.ConnectConfig(t.Context(), config))(t)
		defer c.Close(context.Background())
		txs[i] = must.Get(c.Begin(t.Context()))(t)
		var v int64
		must.OK(t, trace.QueryRow(t.Context(), txs[i], "SELECT v FROM accounts WHERE id = 1").Scan(&v))
	}
	for i, tx := range txs {
		must.Get(tx.Exec(t.Context(), "UPDATE accounts SET v = $1 WHERE id = 1", 100+i))(t)
		must.OK(t, tx.Commit(t.Context()))
	}
	// A SELECT of which the tracer sees no rows, and a write in a batch.
	c := must.Get(pgx.ConnectConfig(t.Context(), config))(t)
	defer c.Close(context.Background())
	must.Get(c.Exec(t.Context(), "SELECT v FROM accounts WHERE id = 1"))(t)
	s := trace.Stats()
	must.Equal(t, s.NotUnderstood["isovet did not see all its rows"] != 1 || len(s.NotUnderstood) != 1, false, "%v", s)
	b := &pgx.Batch{}
	b.Queue("UPDATE accounts SET v = 7 WHERE id = 2")
	must.OK(t, c.SendBatch(t.Context(), b).Close())
	s = trace.Stats()
	must.Equal(t, len(s.Missed) == 2 && s.Missed[1].Write && strings.Contains(s.Missed[1].Why, "batch"), true, "%v", s)
	h := must.Get(rec.History())(t)
	r, err := isovettest.Run(t.Context(), h, isovettest.Options{})
	must.Equal(t, err != nil || r.Verdict != evidence.Violated || r.Anomalies[0].Kind != "lost-update", false,
		"%v: %+v", err, r)
}

// TestPgxVersions: without a declared table, what goes through the tracer's own calls is recorded by PostgreSQL's row
// versions, and the program sees the same; what does not is counted.
func TestPgxVersions(t *testing.T) {
	url := start(t)
	load(t, url)
	ctx := t.Context()
	rec := isovettest.Recorder(t, record.Options{})
	trace := recordpgx.New(rec)
	config := must.Get(pgx.ParseConfig(url))(t)
	config.Tracer = trace
	c := must.Get(pgx.ConnectConfig(ctx, config))(t)
	defer c.Close(context.Background())
	must := func(err error) {
		t.Helper()
		must.OK(t, err)
	}
	tag, err := trace.Exec(ctx, c, "UPDATE accounts SET v = v + @n WHERE id = @id", pgx.NamedArgs{"n": 5, "id": 1})
	if must(err); tag.String() != "UPDATE 1" {
		t.Error(tag)
	}
	type account struct {
		ID int32
		V  int64
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		rows, err := trace.Query(ctx, c, "SELECT * FROM accounts WHERE id IN ($1, $2) ORDER BY 1", mode, 1, 9)
		must(err)
		got, err := pgx.CollectRows(rows, pgx.RowToStructByName[account])
		if must(err); len(got) != 1 || got[0] != (account{1, 6}) {
			t.Errorf("%v: %v", mode, got)
		}
	}
	must(pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := trace.Exec(ctx, tx, "DELETE FROM accounts WHERE id = 2"); err != nil {
			return err
		}
		_ = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint
			_, err := trace.Exec(ctx, tx, "DELETE FROM accounts WHERE id = 1")
			return errors.Join(err, errors.New("no"))
		})
		var v int64
		return trace.QueryRow(ctx, tx, "UPDATE accounts SET v = 8 WHERE id < 5 RETURNING v").Scan(&v)
	}))
	_, err = c.Prepare(ctx, "gone", "DELETE FROM accounts WHERE id = $1")
	must(err)
	_, err = c.Exec(ctx, "gone", 4)
	must(err)
	_, err = c.CopyFrom(ctx, pgx.Identifier{"accounts"}, []string{"id", "v"}, pgx.CopyFromRows([][]any{{20, 1}}))
	must(err)
	var n int
	for _, id := range []int{4, 20} {
		err := trace.QueryRow(ctx, c, "SELECT v FROM accounts WHERE id = $1", id).Scan(&n)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			t.Error(err)
		}
	}
	s := trace.Stats()
	if len(s.Missed) != 3 || s.Missed[0].SQL != "DELETE FROM accounts WHERE id = $1" || s.Understood != 10 {
		t.Error(s)
	}
	isovettest.Check(t, rec, level.StrictSerializable)
}

// TestPgxAborted: which errors of a commit say that it had no effect.
func TestPgxAborted(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "40001"}, true}, {&pgconn.PgError{Code: "40P01"}, true},
		{&pgconn.PgError{Code: "23505"}, true}, {fmt.Errorf("x: %w", &pgconn.PgError{Code: "25P02"}), true},
		{pgx.ErrTxCommitRollback, true}, {&pgconn.PgError{Code: "40003"}, false},
		{&pgconn.PgError{Code: "57P01"}, false}, {&pgconn.PgError{Code: "08006"}, false},
		{context.DeadlineExceeded, false}, {errors.New("broken pipe"), false}, {nil, false},
	} {
		must.Equal(t, recordpgx.Aborted(c.err), c.want, "%v", c.err)
	}
}
