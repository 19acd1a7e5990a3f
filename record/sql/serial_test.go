package recordsql_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"isovet/collect/server"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/sql"
)

var serialLook = []string{"SELECT id, v FROM users WHERE id = 1", "SELECT id, v FROM users WHERE id < 9",
	"SELECT v FROM users WHERE id = 3", "SELECT id, v FROM names", "SELECT id, v FROM notes WHERE id < 9",
	"SELECT v FROM counted WHERE id = 1", "SELECT id, v FROM typeless"}

// play runs a statement. "cancelled " precedes one whose context has ended, "prepare " one that is only prepared,
// "open " one whose rows stay open, which it returns; a parameter is null.
func play(ctx context.Context, conn *sql.Conn, prepared map[string]*sql.Stmt, q string, query bool) *sql.Rows {
	if rest, ok := strings.CutPrefix(q, "cancelled "); ok {
		c, stop := context.WithCancel(ctx)
		stop()
		q, ctx = rest, c
	}
	if rest, ok := strings.CutPrefix(q, "prepare "); ok {
		prepared[rest], _ = conn.PrepareContext(ctx, rest)
		return nil
	}
	q, open := strings.CutPrefix(q, "open ")
	args := []any{nil}[:min(1, strings.Count(q, "?"))]
	ask, exec := conn.QueryContext, conn.ExecContext
	if s := prepared[q]; s != nil {
		ask = func(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
			return s.QueryContext(ctx, args...)
		}
		exec = func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
			return s.ExecContext(ctx, args...)
		}
	}
	if !query && !open && !strings.HasPrefix(q, "SELECT") && !strings.HasPrefix(q, "WITH") {
		_, _ = exec(ctx, q, args...) // some fail
		return nil
	}
	rows, err := ask(ctx, q, args...)
	for err == nil && rows.Next() {
		if open {
			return rows
		}
	}
	if err == nil {
		_ = errors.Join(rows.Err(), rows.Close())
	}
	return nil
}

// serial runs the programs of a file: with and without ranges and earlier reads, their writes by Exec or by Query.
// fresh makes a database and returns its address: on a server that takes long, and each program runs in one way, and
// in all of them at night.
func serial(t *testing.T, file, driver string, fresh func() string) {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("testdata", file)))(t)
	understood, missed := 0, 0
	for i, program := range strings.Split(string(text), "\n== ")[1:] {
		ways := histtest.Long([]int{2, 3, 6, 5}, []int{0, 1, 2, 3, 4, 5, 6, 7})
		if driver != "sqlite" {
			ways = histtest.Long(ways[i%3:i%3+1], ways)
		}
		steps := strings.Split(strings.TrimSpace(strings.ReplaceAll(program, `\n`, "\r")), "\n")
		for _, way := range ways {
			ranges, before, query := way&1 != 0, way&2 != 0, way&4 != 0
			rec := record.New(record.Options{})
			var tables []recordsql.Table
			for _, table := range []string{"users", "names", "notes", "counted", "mails", "isam", "typeless", "ids"} {
				if driver == "pgx" && !ranges {
					break // by xmin
				}
				tables = append(tables, recordsql.Table{Name: table, Key: "id", Version: "v", Ranges: ranges})
			}
			log := recordsql.New(rec, tables...)
			dsn := fresh()
			db, other := must.Get(log.Open(driver, dsn))(t), must.Get(sql.Open(driver, dsn))(t)
			conn, second := must.Get(db.Conn(t.Context()))(t), must.Get(db.Conn(t.Context()))(t)
			all, prepared := slices.Concat(steps[1:], serialLook), map[string]*sql.Stmt{}
			var open []*sql.Rows
			if before {
				all = slices.Concat(serialLook, all)
			}
			for _, q := range all {
				q = strings.ReplaceAll(q, "\r", "\n")
				if rest, ok := strings.CutPrefix(q, "plain "); ok { // by another program
					must.Get(other.Exec(rest))(t)
				} else if rest, ok := strings.CutPrefix(q, "second "); ok { // by another client that is recorded
					play(t.Context(), second, nil, rest, query)
				} else if rows := play(t.Context(), conn, prepared, q, query); rows != nil {
					open = append(open, rows)
				}
			}
			for _, rows := range open {
				must.OK(t, rows.Close())
			}
			h := must.Get(rec.History())(t)
			r, err := isovettest.Run(t.Context(), h, isovettest.Options{Level: level.StrictSerializable})
			if err != nil || r.Verdict == evidence.Violated {
				t.Errorf("%s, ranges %v, earlier reads %v, by Query %v: %v: %v\n%s\n%v", steps[0], ranges, before,
					query, err, r.Verdict, ops(t, rec), log.Stats())
			}
			must.OK(t, errors.Join(conn.Close(), second.Close(), db.Close(), other.Close()))
			s := log.Stats()
			for i := 0; i < len(s.Missed) && !query; i++ { // by Query, most writes are not understood
				missed += s.Missed[i].Count
			}
			if !query {
				understood += s.Understood
			}
		}
	}
	if t.Logf("%d statements understood, %d not", understood, missed); 4*understood < 5*missed {
		t.Errorf("too few are understood")
	}
}

const serialTables = `CREATE TABLE users (id INTEGER PRIMARY KEY, v INTEGER);
	CREATE TABLE names (id VARCHAR(9) PRIMARY KEY, v INTEGER);
	INSERT INTO users (id, v) VALUES (1, 10), (2, 11), (3, 12); `

func TestSerialSQLite(t *testing.T) {
	serial(t, "serial-sqlite.txt", "sqlite", func() string {
		file := "file:" + filepath.Join(t.TempDir(), "db") + "?_pragma=foreign_keys(1)&_pragma=synchronous(off)"
		db := must.Get(sql.Open("sqlite", file))(t)
		_, err := db.Exec("BEGIN;" + serialTables + `CREATE TABLE notes (id INTEGER PRIMARY KEY, v INTEGER,
			of INTEGER REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED); INSERT INTO notes VALUES (1, 13, 1); COMMIT`)
		must.OK(t, errors.Join(err, db.Close()))
		return file
	})
}

func TestSerialPostgres(t *testing.T) {
	url := sqltest.Postgres(t)
	serial(t, "serial-postgres.txt", "pgx", func() string {
		simple := "?default_query_exec_mode=simple_protocol" // which takes several statements at once
		if strings.Contains(url, "?") {
			simple = "&" + simple[1:]
		}
		db := must.Get(sql.Open("pgx", url+simple))(t)
		sqltest.Fresh(t, db, []string{"DROP ROLE IF EXISTS reader", serialTables + serialPostgres})
		must.OK(t, db.Close())
		return url
	})
}

const serialPostgres = `
CREATE TABLE notes (id int PRIMARY KEY, v int, of int REFERENCES users DEFERRABLE INITIALLY DEFERRED);
INSERT INTO notes VALUES (1, 13, 2);
CREATE TABLE parts (id int PRIMARY KEY, v int, of int REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE logged (id int PRIMARY KEY, v int);
CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF pg_trigger_depth() > 1 THEN RETURN NULL; END IF;
	IF TG_OP = 'DELETE' THEN DELETE FROM logged WHERE id = OLD.id + 100; RETURN NULL; END IF;
	INSERT INTO logged (id, v) VALUES (NEW.id + 100, NEW.v); RETURN NULL; END $$;
CREATE TRIGGER also AFTER INSERT OR DELETE ON logged FOR EACH ROW EXECUTE FUNCTION also();
CREATE TABLE skipped (id int PRIMARY KEY, v int);
CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER skip BEFORE INSERT ON skipped FOR EACH ROW EXECUTE FUNCTION skip();
CREATE TABLE ruled (id int PRIMARY KEY, v int);
CREATE RULE stay AS ON DELETE TO ruled DO INSTEAD NOTHING;
CREATE VIEW few AS SELECT * FROM users WHERE id > 1;
CREATE FUNCTION gone(int) RETURNS int LANGUAGE sql AS 'DELETE FROM users WHERE id = $1; SELECT 1';
CREATE PROCEDURE drops(int) LANGUAGE sql AS 'DELETE FROM users WHERE id = $1';
CREATE PROCEDURE commits(int) LANGUAGE plpgsql AS 'BEGIN UPDATE users SET v = $1 WHERE id = 1; COMMIT;
	UPDATE users SET v = v + 1 WHERE id = 1; ROLLBACK; END';
CREATE PROCEDURE fails(int) LANGUAGE plpgsql AS 'BEGIN DELETE FROM users WHERE id = $1; COMMIT; RAISE ''x''; END';
CREATE TABLE hidden (id int PRIMARY KEY, v int);
INSERT INTO hidden VALUES (1, 14);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE ROLE reader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
CREATE COLLATION either (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE folded (id text COLLATE either PRIMARY KEY, v int);
CREATE TABLE padded (id char(5) PRIMARY KEY, v int);
CREATE TABLE decimals (id numeric(9, 2) PRIMARY KEY, v int);
CREATE TABLE mails (id int PRIMARY KEY, v int, mail text UNIQUE);
CREATE TABLE split (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
CREATE TABLE split_1 PARTITION OF split FOR VALUES FROM (0) TO (100);
CREATE TABLE split_2 PARTITION OF split FOR VALUES FROM (100) TO (1000);
CREATE TABLE parents (id int PRIMARY KEY, v int);
CREATE TABLE child () INHERITS (parents);
CREATE TABLE ids (id int PRIMARY KEY, v uuid);
CREATE TABLE counted (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, v int)`

func TestSerialMariaDB(t *testing.T) {
	if os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("NOT RUN: ISOVET_SERVERS=1 asks for MariaDB")
	}
	c := must.Get(server.Start(context.Background(), "mariadb:start"))(t)
	defer func() { must.OK(t, c.Close()) }()
	url := strings.TrimPrefix(c.URLs[0], "mysql://")
	user, rest, _ := strings.Cut(url, "@")
	host, name, _ := strings.Cut(rest, "/")
	name, _, _ = strings.Cut(name, "?")
	dsn := user + "@tcp(" + host + ")/"
	serial(t, "serial-mariadb.txt", "mysql", func() string {
		db := must.Get(sql.Open("mysql", dsn+"?multiStatements=true"))(t)
		again := "DROP DATABASE IF EXISTS " + name + "; CREATE DATABASE " + name + "; USE " + name + ";"
		_, err := db.Exec("DROP DATABASE IF EXISTS more;" + again + serialTables + `CREATE TABLE counted (id INTEGER PRIMARY KEY AUTO_INCREMENT, v INTEGER);
			CREATE TABLE mails (id INTEGER PRIMARY KEY, v INTEGER, mail VARCHAR(9) UNIQUE);
			CREATE TABLE isam (id INTEGER PRIMARY KEY, v INTEGER) ENGINE = MyISAM;
			CREATE PROCEDURE p() DELETE FROM users WHERE id = 1; CREATE PROCEDURE c() COMMIT`)
		must.OK(t, errors.Join(err, db.Close()))
		return dsn + name
	})
}
