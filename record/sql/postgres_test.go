package recordsql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	_ "isovet/internal/test/memdir"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/sql"
)

func TestMain(m *testing.M) { sqltest.Main(m) }

// TestOneClient: scenarios through the driver. In the gate one in three is run.
func TestOneClient(t *testing.T) {
	url := sqltest.Postgres(t)
	yes, all := sqltest.OneClient(t, sqltest.Scenarios(0), func(t *testing.T, rec *record.Recorder) sqltest.Client {
		log := recordsql.New(rec)
		plain, err := sql.Open("pgx", url)
		db, err2 := log.Open("pgx", url)
		must.OK(t, errors.Join(err, err2))
		return sqltest.Client{Plain: plain, Recorded: db, Stats: log.Stats}
	})
	t.Logf("%d of %d statements are understood", yes, all)
}

// eight runs a transaction from eight clients at once, and checks what was recorded at some levels.
func eight(t *testing.T, url string, begin *sql.TxOptions, one func(tx *sql.Tx, random *rand.Rand) error,
	want map[level.Level]string) {
	t.Helper()
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := recordsql.New(rec)
	db := must.Get(log.Open("pgx", url))(t)
	defer db.Close()
	sqltest.Fresh(t, db, nil)
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
	h := must.Get(rec.History())(t)
	for l, kind := range want {
		r := must.Get(isovettest.Run(t.Context(), h, isovettest.Options{Level: l}))(t)
		if kind == "" {
			must.Equal(t, r.Verdict, evidence.Holds, "%v %s %+v", l, r.Reason, r.Anomalies)
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
	url := sqltest.Postgres(t)
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
		id := 1 + random.IntN(4)
		if err := drain(tx.Query("SELECT balance FROM accounts WHERE id BETWEEN $1 AND $2", id, id+1)); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE accounts SET balance = balance - 1 WHERE id = $1", id+random.IntN(2))
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
			level.Serializable: "write-skew, G2-item"}},
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
		r := sqltest.Outcome(ctx, c, sqltest.Step{SQL: query, Args: args})
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

// TestMixed: eight clients whose rows come and go, at each level: what PostgreSQL promises there holds, and their
// transactions name it.
func TestMixed(t *testing.T) {
	histtest.OnlyLong(t)
	url := sqltest.Postgres(t)
	for isolation, want := range map[string]level.Level{"read committed": level.ReadCommitted,
		"repeatable read": level.SnapshotIsolation, "serializable": level.Serializable} {
		t.Run(isolation, func(t *testing.T) {
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			log := recordsql.New(rec)
			db := must.Get(log.Open("pgx", url))(t)
			defer db.Close()
			sqltest.Fresh(t, db, nil)
			var all sync.WaitGroup
			for c := range 8 {
				all.Go(func() { mixed(t, db, isolation, rand.New(rand.NewPCG(uint64(c), 11)), 40) })
			}
			all.Wait()
			t.Logf("%+v; %v", rec.Stats(), log.Stats())
			h := must.Get(rec.History())(t)
			named := map[string]int{}
			for u := range uint32(h.NumTxns()) {
				if h.Txns.Status[u] == history.Committed && u != h.Init {
					named[h.LevelName(u)]++
				}
			}
			// The schema's rows are at the default, and so is what begins while the catalogue is read again.
			weaker := want != level.ReadCommitted && named["read-committed"] > 5
			must.Equal(t, named[want.String()] >= 100 && !weaker, true, "%v", named)
			isovettest.Check(t, rec, want)
		})
	}
}

// TestPreparedBefore: a statement that was prepared before another schema came first does not say that the rows of the
// first are absent.
func TestPreparedBefore(t *testing.T) {
	url := sqltest.Postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := recordsql.New(rec)
	db := must.Get(log.Open("pgx", url))(t)
	defer db.Close()
	sqltest.Fresh(t, db, append(sqltest.Accounts[:2:2], "CREATE SCHEMA other",
		"CREATE TABLE other.accounts (id int PRIMARY KEY, balance int)"))
	c := must.Get(db.Conn(t.Context()))(t)
	defer c.Close()
	read := must.Get(c.PrepareContext(t.Context(), "SELECT balance FROM accounts WHERE id = $1"))(t)
	defer read.Close()
	n, found := 0, []bool{}
	for _, path := range []string{"public", "other", "public"} {
		must.Get(c.ExecContext(t.Context(), "SET search_path = "+path))(t)
		err := read.QueryRowContext(t.Context(), 1).Scan(&n)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		found = append(found, err == nil)
	}
	must.Equal(t, fmt.Sprint(found), "[true false true]", "found")
	isovettest.Check(t, rec, level.StrictSerializable)
}

// TestLevelsTold: a transaction names the level that PostgreSQL keeps for it: what it began with, and serializable only
// apart from weaker writers.
func TestLevelsTold(t *testing.T) {
	url := sqltest.Postgres(t)
	words := strings.NewReplacer("STRICT", "BEGIN ISOLATION LEVEL SERIALIZABLE", "ONE",
		"SELECT v FROM accounts WHERE id = 1").Replace
	for _, c := range cases(t, "levels.txt") {
		name, want, steps := c[0], c[1], c[2]
		t.Run(name, func(t *testing.T) {
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			declared := recordsql.Table{Name: "accounts", Key: "id", Version: "v", Ranges: true}
			log := recordsql.New(rec, []recordsql.Table{declared}[:strings.Count(name, "declared")]...)
			db := must.Get(log.Open("pgx", url))(t)
			defer db.Close()
			sqltest.Fresh(t, db, nil)
			clients := map[string]*sql.Conn{}
			for step := range strings.SplitSeq(words(steps), ";") {
				who, text, _ := strings.Cut(step, " ")
				if clients[who] == nil {
					clients[who] = must.Get(db.Conn(t.Context()))(t)
					defer clients[who].Close()
				}
				if r := sqltest.Outcome(t.Context(), clients[who], sqltest.Step{SQL: text}); failure.MatchString(r) {
					t.Fatalf("%s: %s", text, r)
				}
			}
			var levels []string
			h := must.Get(rec.History())(t)
			for u := range uint32(h.NumTxns()) {
				levels = append(levels, h.LevelName(u))
			}
			levels = levels[max(0, len(levels)-len(strings.Fields(want))):]
			must.Equal(t, strings.Join(levels, " "), want, "levels")
			isovettest.Check(t, rec, level.Mixed(level.ReadCommitted))
		})
	}
}

// TestLockedTable: of a join that waits for the rows of one table alone, only these are newer than its beginning.
func TestLockedTable(t *testing.T) {
	url := sqltest.Postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := recordsql.New(rec)
	db := must.Get(log.Open("pgx", url))(t)
	defer db.Close()
	sqltest.Fresh(t, db, nil)
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	must.Get(tx.Exec("UPDATE accounts SET v = v + 10 WHERE id < 3"))(t)
	a, b, read := 0, 0, make(chan error)
	go func() {
		read <- db.QueryRow(`SELECT a.v, b.v FROM accounts a JOIN accounts b ON b.id = 2 WHERE a.id = 1
			FOR UPDATE OF a`).Scan(&a, &b)
	}()
	for waiting := 0; waiting == 0; {
		must.OK(t, db.QueryRow("SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&waiting))
	}
	must.OK(t, errors.Join(tx.Commit(), <-read))
	must.Equal(t, a != 11 || b != 2 || len(log.Stats().Missed) != 1, false, "%d and %d; %v", a, b, log.Stats())
	isovettest.Check(t, rec, level.ReadCommitted)
}
