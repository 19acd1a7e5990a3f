package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"isovet/internal/cli/collects"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/level"
)

// heard is what a command says; told is closed once it has said where it listens.
type heard struct {
	bytes.Buffer
	told chan string
}

var listening = regexp.MustCompile(`Listening on (\S+)`)

func (h *heard) Write(b []byte) (int, error) {
	if m := listening.FindSubmatch(b); m != nil {
		h.told <- string(m[1])
	}
	return h.Buffer.Write(b)
}

// TestProxyWatch: what the proxy records is judged until it ends. A client alone is never accused; a lost update at
// READ COMMITTED is, where more is asked of the database, in the program's words.
func TestProxyWatch(t *testing.T) {
	direct := sqltest.Postgres(t)
	set := func(c string, q string) string { return c + " " + q }
	const read, write = "SELECT balance FROM watched WHERE id = 1", "UPDATE watched SET balance = %d WHERE id = 1"
	var alone []string
	for i := range 20 {
		alone = append(alone, set("a", "BEGIN"), set("a", read), set("a", fmt.Sprintf(write, i)), set("a", "COMMIT"),
			set("b", read))
	}
	for name, c := range map[string]struct {
		steps  []string
		status int
	}{
		"alone": {alone, console.StatusOK},
		"lost": {[]string{set("a", "BEGIN"), set("b", "BEGIN"), set("a", read), set("b", read),
			set("a", fmt.Sprintf(write, 90)), set("a", "COMMIT"), set("b", fmt.Sprintf(write, 80)), set("b", "COMMIT")},
			console.StatusViolation},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out bytes.Buffer
			err := &heard{told: make(chan string, 1)}
			cmd := collects.NewProxy(&console.Env{Stdout: &out, Stderr: err})
			cmd.SetArgs([]string{"--db", direct, "-o", filepath.Join(t.TempDir(), "r"), "--watch", "--listen",
				"127.0.0.1:0"})
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			u, _ := url.Parse(direct)
			u.Host = <-err.told
			q := u.Query()
			q.Del("host")
			u.RawQuery = q.Encode()
			plain, fault := pgx.Connect(ctx, direct)
			if fault != nil {
				t.Fatal(fault)
			}
			defer plain.Close(t.Context())
			for _, sql := range []string{"DROP TABLE IF EXISTS watched", "CREATE TABLE watched (id int PRIMARY KEY, " +
				"balance int)", "INSERT INTO watched VALUES (1, 100)"} {
				if _, err := plain.Exec(ctx, sql); err != nil {
					t.Fatal(err)
				}
			}
			clients := map[string]*pgx.Conn{}
			for _, step := range c.steps {
				who, sql, _ := strings.Cut(step, " ")
				if clients[who] == nil {
					if clients[who], fault = pgx.Connect(ctx, u.String()); fault != nil {
						t.Fatal(fault)
					}
				}
				if _, err := clients[who].Exec(ctx, sql); err != nil {
					t.Fatal(err)
				}
			}
			for _, conn := range clients {
				if err := conn.Close(ctx); err != nil {
					t.Error(err)
				}
			}
			cancel()
			must.Equal(t, console.StatusOf(<-ended), c.status, "status, with %s %s", &out, &err.Buffer)
			if said := out.String(); c.status == console.StatusViolation && (!strings.Contains(said,
				`"anomaly":"lost-update"`) || !strings.Contains(said, `"key":"watched/1"`) || !strings.Contains(said,
				" is SELECT balance FROM watched WHERE id = 1; UPDATE watched SET balance = 80 WHERE id = 1;")) {
				t.Errorf("it says %s", said)
			}
		})
	}
}

// TestJudgeBehind: what the judge beside a recording has no room for is counted, and the end says so.
func TestJudgeBehind(t *testing.T) {
	var said bytes.Buffer
	b := watches.Beside{Level: level.Serializable, Dir: t.TempDir(), Room: 1}
	b.Begin(t.Context(), &console.Env{Stdout: &said, Stderr: &said})
	b.Add([]byte(`{"start":1,"end":2,"ops":[]}` + "\n"))
	if got := b.End(); got != console.StatusUnknown || !strings.Contains(said.String(), "skipped 1 transaction;") {
		t.Errorf("status %d: %s", got, &said)
	}
}
