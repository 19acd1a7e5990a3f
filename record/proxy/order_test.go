package proxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"isovet/history"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/proxy"
)

// TestAnnounced: before a Sync, a Query or COMMIT among others commits a transaction, the recording has it.
func TestAnnounced(t *testing.T) {
	direct := postgres(t)
	insert := func(id int) pgproto3.FrontendMessage {
		return &pgproto3.Parse{Query: fmt.Sprintf("INSERT INTO notes VALUES (%d, %[1]d %% 2)", id)}
	}
	for i, end := range []pgproto3.FrontendMessage{&pgproto3.Sync{}, &pgproto3.Query{String: "SELECT 1"},
		&pgproto3.Query{String: "COMMIT; SELECT 1"}} {
		path := filepath.Join(t.TempDir(), "h.jsonl")
		rec := must.Get(record.Create(path, record.Options{}))(t)
		c := connect(t, start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec}}))
		other := connect(t, direct.String())
		do(t, c, "DROP TABLE IF EXISTS notes", "CREATE TABLE notes (id int PRIMARY KEY, n int UNIQUE DEFERRABLE "+
			"INITIALLY DEFERRED)", "SELECT * FROM notes")
		do(t, other, "BEGIN", "INSERT INTO notes VALUES (1, 1)")
		do(t, c, []string{"SELECT 1", "SELECT 1", "BEGIN"}[i])
		var done sync.WaitGroup
		done.Go(func() { // its commit waits for the other
			answers(t, c, insert(2), &pgproto3.Bind{}, &pgproto3.Execute{}, insert(3), &pgproto3.Bind{},
				&pgproto3.Execute{}, end)
		})
		has := false
		for end := time.Now().Add(5 * time.Second); !has && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			has = bytes.Contains(must.Get(os.ReadFile(path))(t), []byte("notes/3"))
		}
		must.Equal(t, has, true, "the transaction is in the recording before its commit: %+v", end)
		must.Get(other.Exec(t.Context(), "ROLLBACK"))(t)
		done.Wait()
		must.OK(t, rec.Close())
		must.Equal(t, rec.Stats().Committed >= 1, true, "it has committed")
	}
}

// TestEarlyQuery: a client that sends a statement before it is told that the server is ready gets all answers.
func TestEarlyQuery(t *testing.T) {
	o := proxy.Options{Log: &sqlstmt.Log{Rec: isovettest.Recorder(t, record.Options{})}}
	u := must.Get(url.Parse(start(t, postgres(t), o)))(t)
	c := must.Get(net.Dial("tcp", u.Host))(t)
	defer c.Close()
	must.OK(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	for _, m := range []pgproto3.FrontendMessage{&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": u.User.Username(), "database": u.Path[1:]}},
		&pgproto3.Query{String: "SELECT 7"}, &pgproto3.Terminate{}} {
		must.Get(c.Write(must.Get(m.Encode(nil))(t)))(t)
	}
	all := must.Get(io.ReadAll(c))(t)
	must.Equal(t, all[0] == 'R' && bytes.Count(all, []byte("Z\x00\x00\x00\x05I")) == 2, true, "logged in: %q", all)
}

// TestSnapshot: where Parse or Bind takes the snapshot, what others commit before Execute comes after it.
func TestSnapshot(t *testing.T) {
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	address := start(t, postgres(t), proxy.Options{Log: &sqlstmt.Log{Rec: rec}})
	a, b := connect(t, address), connect(t, address)
	do(t, b, fresh...)
	do(t, a, "SET default_transaction_isolation = 'repeatable read'")
	f, all := a.PgConn().Frontend(), []pgproto3.FrontendMessage{
		&pgproto3.Parse{Query: "SELECT v FROM accounts WHERE id = 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}}
	for n := 1; n < 3; n++ {
		for _, m := range append(all[:n:n], &pgproto3.Flush{}) {
			f.Send(m)
		}
		must.OK(t, f.Flush())
		for range n {
			must.Get(f.Receive())(t)
		}
		do(t, b, "UPDATE accounts SET v = v + 1 WHERE id = 1")
		out := answers(t, a, all[n:]...)
		must.Equal(t, out[len(out)-3], fmt.Sprintf(`["%d"]`, n), "the version before")
		do(t, a, "RESET default_transaction_isolation")
	}
	judge(t, rec, map[level.Level]string{level.StrictSerializable: ""})
}
