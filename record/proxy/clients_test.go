package proxy_test

import (
	"bytes"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/proxy"
)

// TestClients: programs of other languages print the same through the proxy, by the byte, and what they did is no
// violation. The ways in which they send statements differ: psql and psycopg2 by the simple protocol, psycopg in binary
// and with names of statements, node-postgres with each of them, JDBC with rows in portions, pgbench as it is told.
func TestClients(t *testing.T) {
	direct := postgres(t)
	statements := filepath.Join("testdata", "clients", "statements.sql")
	file := func(name string) string { return filepath.Join("testdata", "clients", name) }
	jar := "/usr/share/java/postgresql.jar"
	jdbc := func(u *url.URL) string {
		return "jdbc:postgresql://" + u.Host + u.Path + "?user=postgres&prepareThreshold=1"
	}
	plain := func(u *url.URL) string { return u.String() }
	lines := must.Get(os.ReadFile(statements))(t)
	text := filepath.Join(t.TempDir(), "statements.sql")
	must.OK(t, os.WriteFile(text, []byte(strings.ReplaceAll(string(lines), "\n", ";\n")), 0o644))
	bench := func(mode string) []string {
		return []string{"pgbench", "-n", "-M", mode, "-t", "20", "-f", file("pgbench.sql")}
	}
	for _, c := range []struct {
		name    string
		there   []string // succeeds where the client is installed
		address func(*url.URL) string
		args    []string // before the address
		more    []string // behind it
	}{
		{"psql", []string{"psql", "--version"}, plain, []string{"psql", "-X", "-a", "-d"}, []string{"-f", text}},
		{"psycopg2", []string{"/usr/bin/python3", "-c", "import psycopg2"}, plain,
			[]string{"/usr/bin/python3", file("psycopg2_client.py")}, []string{statements}},
		{"psycopg", []string{"/usr/bin/python3", "-c", "import psycopg"}, plain,
			[]string{"/usr/bin/python3", file("psycopg3_client.py")}, []string{statements}},
		{"node-postgres", []string{"node", "-e", "require('pg')"}, plain, []string{"node", file("client.js")},
			[]string{statements}},
		{"JDBC", []string{"sh", "-c", "test -e " + jar + " && java --version"}, jdbc,
			[]string{"java", "-XX:TieredStopAtLevel=1", "-cp", jar, file("Client.java")}, []string{statements}},
		{"pgbench, simple", []string{"pgbench", "--version"}, plain, bench("simple"), nil},
		{"pgbench, extended", []string{"pgbench", "--version"}, plain, bench("extended"), nil},
		{"pgbench, prepared", []string{"pgbench", "--version"}, plain, bench("prepared"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if out, err := exec.Command(c.there[0], c.there[1:]...).CombinedOutput(); err != nil {
				t.Skipf("NOT RUN: %s is not installed: %v %.200s", c.name, err, out)
			}
			db := must.Get(sql.Open("pgx", direct.String()))(t)
			defer db.Close()
			run := func(u *url.URL) string {
				sqltest.Fresh(t, db, nil)
				args := append(append(c.args[1:len(c.args):len(c.args)], c.address(u)), c.more...)
				cmd := exec.Command(c.args[0], args...)
				cmd.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8", "PGCLIENTENCODING=UTF8")
				var out, failed bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &failed
				must.OK(t, cmd.Run(), "%v\n%s%s", args, &out, &failed)
				if strings.HasPrefix(c.name, "pgbench") { // it prints times
					row := ""
					err := db.QueryRow("SELECT string_agg(a::text, ' ' ORDER BY id) FROM accounts a").Scan(&row)
					must.OK(t, err)
					return row
				}
				return out.String() + failed.String()
			}
			want := run(direct)
			rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
			log := &sqlstmt.Log{Rec: rec}
			through := must.Get(url.Parse(start(t, direct, proxy.Options{Log: log})))(t)
			must.Equal(t, run(through), want, "through the proxy, and else")
			t.Logf("%+v; %v", rec.Stats(), log.Stats())
			must.Equal(t, log.Stats().Understood >= 10, true, "ten statements are understood")
			judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.SnapshotIsolation: "",
				level.StrictSerializable: ""})
		})
	}
}
