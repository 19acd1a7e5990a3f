// Package sqltest runs what one client does on PostgreSQL with and without a recorder, for the recorders' tests: the
// program must see the same, and what was recorded must be no violation.
package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
)

// Step is a statement with its arguments. Before it: "prepare " prepares it, "first " reads one row, "exec " none.
type Step struct {
	SQL  string
	Args []any
}

func s(sql string, args ...any) Step { return Step{sql, args} }

var cluster *server.Cluster

// Main runs a package's tests, and ends the server that they have used.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests are a package's tests, and the end of their PostgreSQL.
type Tests struct{ *testing.M }

func (m Tests) Run() int {
	status := m.M.Run()
	if cluster != nil {
		if err := cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	return status
}

// Postgres starts one PostgreSQL for a package's tests where ISOVET_SERVERS asks for it and one is installed, and
// returns its address. ISOVET_POSTGRES is the folder of another one's programs.
func Postgres(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("ISOVET_POSTGRES")
	if os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("NOT RUN: ISOVET_SERVERS=1 asks for PostgreSQL")
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 && bin == "" {
		if _, err := exec.LookPath("initdb"); err != nil {
			t.Skip("NOT RUN: no PostgreSQL (initdb) is installed")
		}
	}
	if cluster == nil {
		name := "postgres:start?max_prepared_transactions=5"
		if bin != "" {
			name += "&bin=" + url.QueryEscape(bin)
		}
		c := must.Get(server.Start(context.Background(), name))(t)
		cluster = c
	}
	return cluster.URLs[0]
}

// Fresh makes an empty database with a schema; nil: Accounts.
func Fresh(t *testing.T, db *sql.DB, schema []string) {
	t.Helper()
	if schema == nil {
		schema = Accounts
	}
	var left string // such transactions have locks
	for db.QueryRow("SELECT gid FROM pg_prepared_xacts").Scan(&left) == nil {
		must.Get(db.Exec("ROLLBACK PREPARED '" + left + "'"))(t)
	}
	for _, q := range append([]string{"DROP SCHEMA IF EXISTS other CASCADE", "DROP SCHEMA public CASCADE",
		"CREATE SCHEMA public"}, schema...) {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

var returns = regexp.MustCompile(`^(SELECT|WITH|FETCH|EXPLAIN|EXECUTE|SHOW|TABLE|VALUES)|RETURNING`)

// Outcome is what a program sees of a statement.
func Outcome(ctx context.Context, c *sql.Conn, q Step) string {
	query, args := q.SQL, q.Args
	how, rest, _ := strings.Cut(query, " ")
	if how == "exec" || how == "first" {
		query = rest
	}
	var rows *sql.Rows
	var err error
	switch {
	case how == "prepare":
		var st *sql.Stmt
		if st, err = c.PrepareContext(ctx, rest); err != nil {
			return Code(err)
		}
		defer st.Close()
		if !strings.HasPrefix(rest, "SELECT") {
			return affected(st.ExecContext(ctx, args...))
		}
		rows, err = st.QueryContext(ctx, args...)
	case how == "exec" || !returns.MatchString(query):
		return affected(c.ExecContext(ctx, query, args...))
	default:
		rows, err = c.QueryContext(ctx, query, args...)
	}
	if err != nil {
		return Code(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	types, err2 := rows.ColumnTypes()
	if err := errors.Join(err, err2); err != nil {
		return Code(err)
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
			return Code(err)
		}
		for _, v := range row {
			out += fmt.Sprintf(" %v", *v.(*any))
		}
		if how == "first" {
			break
		}
	}
	return out + " " + Code(errors.Join(rows.Err(), rows.Close()))
}

func affected(r sql.Result, err error) string {
	if err != nil {
		return Code(err)
	}
	n, err := r.RowsAffected()
	return fmt.Sprint(n, Code(err))
}

// Code is an error as PostgreSQL counts them, without the numbers that it gives to what a schema makes.
func Code(err error) string {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return numbers.ReplaceAllString(e.Code+" "+e.Message+" "+e.Detail, "#")
	}
	return err.Error()
}

var numbers = regexp.MustCompile(`\b\d{5,}\b( of relation| of database|;)`)

// contents are the rows of all tables, as text.
func contents(ctx context.Context, c *sql.Conn) (out []string) {
	rows, err := c.QueryContext(ctx, `SELECT format('SELECT %L || t::text FROM %I.%I t', relname, nspname, relname)
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
		WHERE relkind IN ('r', 'S') AND (nspname IN ('public', 'other', 'z') OR pg_catalog.pg_my_temp_schema() = n.oid)`)
	if err != nil {
		return []string{Code(err)}
	}
	var tables []string
	for rows.Next() {
		q := ""
		if err := rows.Scan(&q); err != nil {
			return []string{Code(err)}
		}
		tables = append(tables, q)
	}
	if err := rows.Err(); err != nil {
		return []string{Code(err)}
	}
	for _, q := range tables {
		rows, err := c.QueryContext(ctx, q)
		for err == nil && rows.Next() {
			row := ""
			err = rows.Scan(&row)
			out = append(out, row)
		}
		if err == nil {
			err = rows.Err()
		}
		if err != nil {
			out = append(out, Code(err))
		}
	}
	slices.Sort(out)
	return out
}

// Client is a program's way to the database, without and with a recorder.
type Client struct {
	Plain, Recorded *sql.DB
	Stats           func() sqlstmt.Stats
}

// Scenarios are one in three of all, from the one with that number on; in long runs all.
func Scenarios(from int) (out []Scenario) {
	every := histtest.Long(3, 1)
	for i, sc := range slices.Concat(plain, hostile) {
		if i%every == from%every {
			out = append(out, sc)
		}
	}
	return out
}

// OneClient runs scenarios: what one client does, with nothing concurrent, is no violation of anything, whatever its
// statements and its schema are; and it sees the same as without being recorded. It returns how many statements were
// understood, and of how many.
func OneClient(t *testing.T, scenarios []Scenario, client func(*testing.T, *record.Recorder) Client) (yes, all int) {
	for i, sc := range scenarios {
		t.Run(sc.Name, func(t *testing.T) {
			ctx := t.Context()
			var st sqlstmt.Stats
			run := func(db *sql.DB, stats func() sqlstmt.Stats) (out []string) {
				defer db.Close()
				c := must.Get(db.Conn(ctx))(t)
				defer c.Close()
				isolation := []string{"read committed", "repeatable read", "serializable"}[i%3]
				must.Get(c.ExecContext(ctx, "SET default_transaction_isolation = '"+isolation+"'"))(t)
				for _, q := range sc.Steps {
					out = append(out, q.SQL+": "+Outcome(ctx, c, q))
				}
				st = stats()
				return append(out, contents(ctx, c)...)
			}
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			c := client(t, rec)
			Fresh(t, c.Plain, sc.Schema)
			want := run(c.Plain, c.Stats)
			Fresh(t, c.Recorded, sc.Schema)
			got := run(c.Recorded, c.Stats)
			for i := range max(len(got), len(want)) {
				g, w := append(got, make([]string, len(want))...)[i], append(want, make([]string, len(got))...)[i]
				must.Equal(t, g, w, "recorded")
			}
			for _, m := range st.Missed {
				all += m.Count
			}
			yes += st.Understood
			all += st.Understood
			if t.Logf("%v", st); st.Understood < sc.Understood {
				t.Errorf("%d statements are understood; expected %d", st.Understood, sc.Understood)
			}
			h := must.Get(rec.History())(t)
			for _, l := range []level.Level{level.ReadCommitted, level.SnapshotIsolation, level.StrictSerializable} {
				r, err := isovettest.Run(ctx, h, isovettest.Options{Level: l})
				if err != nil || r.Verdict != evidence.Holds {
					var text strings.Builder
					_ = jsonl.Write(&text, h)
					t.Errorf("%v: %v %+v\n%s", l, err, r, text.String())
				}
			}
		})
	}
	return yes, all
}
