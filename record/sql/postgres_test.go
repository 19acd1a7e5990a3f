package recordsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"

	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/sql"
)

// postgres starts a PostgreSQL of its own where one is installed, and returns its address.
func postgres(t *testing.T) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 {
		if _, err := exec.LookPath("initdb"); err != nil {
			t.Skip("NOT RUN: no PostgreSQL (initdb) is installed")
		}
	}
	c, err := server.Start(t.Context(), "postgres:start")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.URLs[0]
}

// q is a statement with its arguments. Before it: "prepare " prepares it, "first " reads one row alone, "exec " none.
type q struct {
	sql  string
	args []any
}

func s(sql string, args ...any) q { return q{sql, args} }

// fresh makes an empty database with a schema.
func fresh(t *testing.T, db *sql.DB, schema []string) {
	t.Helper()
	if schema == nil {
		schema = accountsSchema
	}
	for _, q := range append([]string{"DROP SCHEMA IF EXISTS other CASCADE", "DROP SCHEMA public CASCADE",
		"CREATE SCHEMA public"}, schema...) {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

var returns = regexp.MustCompile(`^(SELECT|WITH|FETCH|EXPLAIN|TABLE|VALUES)|RETURNING`)

// outcome is what a program sees of a statement.
func outcome(ctx context.Context, c *sql.Conn, q q) string {
	query, args := q.sql, q.args
	var rows *sql.Rows
	var err error
	how, rest, _ := strings.Cut(query, " ")
	switch how {
	case "exec", "first":
		query = rest
	}
	first := how == "first"
	switch {
	case how == "prepare":
		st, err := c.PrepareContext(ctx, rest)
		if err != nil {
			return code(err)
		}
		defer st.Close()
		if !strings.HasPrefix(rest, "SELECT") {
			return affected(st.ExecContext(ctx, args...))
		}
		rows, err = st.QueryContext(ctx, args...)
		if err != nil {
			return code(err)
		}
	case how == "exec" || !returns.MatchString(query):
		return affected(c.ExecContext(ctx, query, args...))
	default:
		if rows, err = c.QueryContext(ctx, query, args...); err != nil {
			return code(err)
		}
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return code(err)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return code(err)
	}
	out := fmt.Sprint(columns)
	for _, c := range types {
		if n := c.DatabaseTypeName(); n > "A" { // not the number of a type that the schema makes
			out += " " + n
		}
	}
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(any)
		}
		if err := rows.Scan(row...); err != nil {
			return code(err)
		}
		for _, v := range row {
			out += fmt.Sprintf(" %v", *v.(*any))
		}
		if first {
			break
		}
	}
	return out + " " + code(errors.Join(rows.Err(), rows.Close()))
}

func affected(r sql.Result, err error) string {
	if err != nil {
		return code(err)
	}
	n, err := r.RowsAffected()
	return fmt.Sprint(n, code(err))
}

// code is an error as PostgreSQL counts them.
func code(err error) string {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code + " " + e.Message
	}
	return err.Error()
}

// TestOneClient: what one client does, with nothing concurrent, is no violation of anything, whatever its statements
// and its schema are; and it sees the same as without being recorded.
func TestOneClient(t *testing.T) {
	url := postgres(t)
	plain, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	understood, all := 0, 0
	for i, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			ctx := t.Context()
			run := func(db *sql.DB) (out []string) {
				c, err := db.Conn(ctx)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				isolation := []string{"read committed", "repeatable read", "serializable"}[i%3]
				if _, err := c.ExecContext(ctx, "SET default_transaction_isolation = '"+isolation+"'"); err != nil {
					t.Fatal(err)
				}
				for _, q := range sc.steps {
					out = append(out, outcome(ctx, c, q))
				}
				return out
			}
			fresh(t, plain, sc.schema)
			want := run(plain)
			plain.SetMaxIdleConns(0) // settings of the session go with it
			plain.SetMaxIdleConns(1)
			fresh(t, plain, sc.schema)
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			log := recordsql.New(rec)
			db, err := log.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for i, got := range run(db) {
				if got != want[i] {
					t.Errorf("%s: recorded\n%s\nelse\n%s", sc.steps[i].sql, got, want[i])
				}
			}
			st := log.Stats()
			for _, m := range st.Missed {
				all += m.Count
			}
			understood += st.Understood
			all += st.Understood
			if st.Understood < sc.understood {
				t.Errorf("%d statements are understood; expected %d\n%v", st.Understood, sc.understood, st)
			} else {
				t.Logf("%v", st)
			}
			h, err := rec.History()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range []level.Level{level.ReadCommitted, level.SnapshotIsolation, level.StrictSerializable} {
				r, err := isovettest.Run(ctx, h, isovettest.Options{Level: l})
				if err != nil || r.Verdict == evidence.Violated {
					t.Errorf("%v: %v %+v\n%s", l, err, r, ops(t, rec))
				}
			}
		})
	}
	t.Logf("%d of %d statements are understood", understood, all)
}

// eight runs a transaction from eight clients at once, and checks what was recorded at some levels.
func eight(t *testing.T, url string, begin *sql.TxOptions, one func(tx *sql.Tx, random *rand.Rand) error,
	want map[level.Level]string) {
	t.Helper()
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := recordsql.New(rec)
	db, err := log.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fresh(t, db, nil)
	var all sync.WaitGroup
	for c := range 8 {
		random := rand.New(rand.NewPCG(uint64(c), 7))
		all.Go(func() {
			for range 30 {
				tx, err := db.BeginTx(t.Context(), begin)
				if err == nil {
					if err = one(tx, random); err == nil {
						err = tx.Commit()
					} else if rolled := tx.Rollback(); rolled != nil {
						t.Error(rolled)
					}
				}
				if err != nil && !recordsql.Aborted(err) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%+v; %v", rec.Stats(), log.Stats())
	h, err := rec.History()
	if err != nil {
		t.Fatal(err)
	}
	for l, kind := range want {
		r, err := isovettest.Run(t.Context(), h, isovettest.Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		if kind == "" {
			if r.Verdict != evidence.Holds {
				t.Errorf("%v: %v %s %+v", l, r.Verdict, r.Reason, r.Anomalies)
			}
			continue
		}
		if r.Verdict != evidence.Violated || !strings.Contains(kind, string(r.Anomalies[0].Kind)) {
			t.Errorf("%v: %v %+v; expected %s", l, r.Verdict, r.Anomalies, kind)
			continue
		}
		var named strings.Builder
		if err := jsonl.Write(&named, h); err != nil || !strings.Contains(named.String(), "UPDATE accounts SET") {
			t.Errorf("%v: no transaction is named by its statements", err)
		}
	}
}

// TestEightClients: lost updates at READ COMMITTED and write skew at REPEATABLE READ are found, and nothing else.
func TestEightClients(t *testing.T) {
	histtest.OnlyLong(t)
	url := postgres(t)
	lost := func(tx *sql.Tx, random *rand.Rand) error {
		id, balance := 1+random.IntN(3), 0
		if err := tx.QueryRow("SELECT balance FROM accounts WHERE id = $1", id).Scan(&balance); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE accounts SET balance = $1 WHERE id = $2", balance-1, id)
		return err
	}
	relative := func(tx *sql.Tx, random *rand.Rand) error {
		a := 1 + random.IntN(3)
		for _, id := range []int{a, a + 1} {
			if _, err := tx.Exec("UPDATE accounts SET balance = balance - $1 WHERE id = $2", 1, id); err != nil {
				return err
			}
		}
		return nil
	}
	skew := func(tx *sql.Tx, random *rand.Rand) error {
		n, id := 0, 1+random.IntN(4)
		rows, err := tx.Query("SELECT balance FROM accounts WHERE id BETWEEN $1 AND $2", id, id+1)
		if err != nil {
			return err
		}
		for rows.Next() {
			n++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE accounts SET balance = balance - 1 WHERE id = $1", id+random.IntN(2))
		return err
	}
	committed := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	repeatable := &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	for name, c := range map[string]struct {
		begin *sql.TxOptions
		one   func(tx *sql.Tx, random *rand.Rand) error
		want  map[level.Level]string
	}{
		"lost updates": {committed, lost, map[level.Level]string{level.ReadCommitted: "",
			level.SnapshotIsolation: "lost-update, divergence"}},
		"relative updates": {committed, relative, map[level.Level]string{level.ReadCommitted: "",
			level.Serializable: ""}},
		"no lost updates": {repeatable, lost, map[level.Level]string{level.SnapshotIsolation: "",
			level.Serializable: ""}},
		"write skew": {repeatable, skew, map[level.Level]string{level.SnapshotIsolation: "",
			level.Serializable: "write-skew"}},
		"no write skew": {&sql.TxOptions{Isolation: sql.LevelSerializable}, skew, map[level.Level]string{
			level.Serializable: "", level.SnapshotIsolation: ""}},
	} {
		t.Run(name, func(t *testing.T) { eight(t, url, c.begin, c.one, c.want) })
	}
}

// failure is the code of an error that PostgreSQL told.
var failure = regexp.MustCompile(`\b[0-9][0-9A-Z]{4} `)

// mixed is a client's random statements, alone or in transactions with savepoints: rows come and go.
func mixed(t *testing.T, db *sql.DB, level string, random *rand.Rand, each int) {
	ctx := t.Context()
	c, err := db.Conn(ctx)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	do := func(query string, args ...any) bool {
		r := outcome(ctx, c, q{query, args})
		switch state := failure.FindString(r); state {
		case "":
		case "40001 ", "40P01 ", "23505 ", "25P02 ":
			return false
		default:
			t.Errorf("%s: %s", query, r)
		}
		return true
	}
	do("SET default_transaction_isolation = '" + level + "'")
	statements := []string{"SELECT balance FROM accounts WHERE id = $1",
		"SELECT id FROM accounts WHERE id IN ($1, 3) FOR UPDATE SKIP LOCKED",
		"UPDATE accounts SET balance = balance - 1 WHERE id = $1", "SELECT id FROM accounts WHERE id >= $1 ORDER BY id",
		"INSERT INTO accounts (id, balance) VALUES ($1, 1) ON CONFLICT DO NOTHING",
		"UPDATE accounts SET v = 7 WHERE id = $1 AND balance > 0", "INSERT INTO accounts (id) VALUES ($1)",
		"first UPDATE accounts SET v = 3 WHERE id < $1 RETURNING id"}
	if level != "repeatable read" { // which lets an INSERT go over what was deleted since its snapshot
		statements = append(statements, "DELETE FROM accounts WHERE id = $1",
			"INSERT INTO accounts AS a (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET v = a.v + 1")
	}
	for range each {
		if random.IntN(3) == 0 {
			do(statements[random.IntN(len(statements))], 1+random.IntN(6))
			continue
		}
		ok := do("BEGIN")
		for n := 2 + random.IntN(3); n > 0 && ok; n-- {
			back := random.IntN(4) == 0
			if back {
				do("SAVEPOINT a")
			}
			ok = do(statements[random.IntN(len(statements))], 1+random.IntN(6))
			if back {
				ok = do("ROLLBACK TO a")
			}
		}
		if ok && random.IntN(8) > 0 {
			do("COMMIT")
		} else {
			do("ROLLBACK")
		}
	}
}

// TestMixed: eight clients whose rows come and go, at each level: what PostgreSQL promises there holds.
func TestMixed(t *testing.T) {
	histtest.OnlyLong(t)
	url := postgres(t)
	for isolation, want := range map[string]level.Level{"read committed": level.ReadCommitted,
		"repeatable read": level.SnapshotIsolation, "serializable": level.Serializable} {
		t.Run(isolation, func(t *testing.T) {
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			log := recordsql.New(rec)
			db, err := log.Open("pgx", url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			fresh(t, db, nil)
			var all sync.WaitGroup
			for c := range 8 {
				all.Go(func() { mixed(t, db, isolation, rand.New(rand.NewPCG(uint64(c), 11)), 40) })
			}
			all.Wait()
			t.Logf("%+v; %v", rec.Stats(), log.Stats())
			isovettest.Check(t, rec, want)
		})
	}
}

// TestPreparedBefore: a statement that was prepared before another schema came first does not say that the rows of the
// first are absent.
func TestPreparedBefore(t *testing.T) {
	url := postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := recordsql.New(rec)
	db, err := log.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	fresh(t, db, append(accountsSchema[:2:2], "CREATE SCHEMA other",
		"CREATE TABLE other.accounts (id int PRIMARY KEY, balance int)"))
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read, err := c.PrepareContext(t.Context(), "SELECT balance FROM accounts WHERE id = $1")
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	n, found := 0, []bool{}
	for _, path := range []string{"public", "other", "public"} {
		if _, err := c.ExecContext(t.Context(), "SET search_path = "+path); err != nil {
			t.Fatal(err)
		}
		err := read.QueryRowContext(t.Context(), 1).Scan(&n)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		found = append(found, err == nil)
	}
	if want := []bool{true, false, true}; !slices.Equal(found, want) {
		t.Fatalf("found: %v; expected %v", found, want)
	}
	isovettest.Check(t, rec, level.StrictSerializable)
}
