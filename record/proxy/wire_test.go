package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"isovet/history"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/proxy"
)

// connect opens a connection, and closes it with the test.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	c := must.Get(pgx.Connect(t.Context(), address))(t)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// fresh has the statements that make the accounts anew.
var fresh = slices.Concat([]string{"DROP TABLE IF EXISTS accounts"}, sqltest.Accounts)

// do runs statements.
func do(t *testing.T, c *pgx.Conn, texts ...string) {
	for _, q := range texts {
		must.Get(c.Exec(t.Context(), q))(t)
	}
}

// TestPipelines: batches, whose statements are sent before the first is answered, do the same through the proxy, with
// errors in their midst as well; COPY, LISTEN, large objects and cursors pass.
func TestPipelines(t *testing.T) {
	direct := postgres(t)
	run := func(address string) (out []string) {
		ctx := t.Context()
		c, other := connect(t, address), connect(t, address)
		note := func(v ...any) { out = append(out, fmt.Sprint(v...)) }
		batch := func(texts ...string) {
			b := &pgx.Batch{}
			for _, text := range texts {
				b.Queue(text)
			}
			r := c.SendBatch(ctx, b)
			for range texts {
				rows, err := r.Query()
				var all []any
				for err == nil && rows.Next() {
					v, bad := rows.Values()
					all = append(all, v, bad)
				}
				rows.Close()
				note(all, rows.CommandTag(), sqltest.Code(errors.Join(err, rows.Err())))
			}
			note(sqltest.Code(r.Close()), string(c.PgConn().TxStatus()))
		}
		do(t, c, "DROP TABLE IF EXISTS accounts, notes", sqltest.Accounts[0], sqltest.Accounts[1],
			"CREATE TABLE notes (at timestamptz, n bigint, text text, PRIMARY KEY (at, n))")
		for range 2 {
			batch("SELECT * FROM accounts WHERE id = 1", "UPDATE accounts SET balance = balance + 1 WHERE id = 1",
				"SELECT balance FROM accounts WHERE id = 1")
			batch("UPDATE accounts SET balance = 7 WHERE id = 2", "SELECT 1/0",
				"UPDATE accounts SET balance = 8 WHERE id = 2")
			batch("BEGIN", "UPDATE accounts SET balance = 9 WHERE id = 3 RETURNING id", "COMMIT")
			batch("BEGIN", "UPDATE accounts SET balance = 9 WHERE id = 3", "SELECT nothing", "COMMIT")
			batch("ROLLBACK")
			update := "UPDATE accounts SET balance = balance * 2 WHERE id = 2"
			batch(update, "BEGIN", update)
			batch("ROLLBACK")
			batch(update, "COMMIT", update, update)
			batch("SELECT * FROM accounts ORDER BY id")
		}
		n, err := c.CopyFrom(ctx, pgx.Identifier{"notes"}, []string{"at", "n", "text"}, pgx.CopyFromRows([][]any{
			{time.Unix(0, 0), 1, "one"}, {time.Unix(1, 0), 2, "two"}}))
		note(n, sqltest.Code(err))
		var text strings.Builder
		tag, err := c.PgConn().CopyTo(ctx, &text, "COPY (SELECT n, text FROM notes ORDER BY n) TO STDOUT")
		note(text.String(), tag, sqltest.Code(err))
		_, err = c.CopyFrom(ctx, pgx.Identifier{"notes"}, []string{"at", "n", "text"}, pgx.CopyFromRows([][]any{
			{time.Unix(0, 0), 1, "again"}}))
		note(sqltest.Code(err))
		note(simple(ctx, c, "LISTEN news"), simple(ctx, other, "NOTIFY news, 'hello'"))
		news, err := c.WaitForNotification(ctx)
		note(news.Payload, sqltest.Code(err))
		tx, err := c.Begin(ctx)
		note(sqltest.Code(err))
		los := tx.LargeObjects()
		oid, err := los.Create(ctx, 0)
		note(sqltest.Code(err))
		lo := must.Get(los.Open(ctx, oid, pgx.LargeObjectModeWrite))(t)
		w, err := lo.Write([]byte(strings.Repeat("large", 100000)))
		note(w, sqltest.Code(err), sqltest.Code(los.Unlink(ctx, oid)))
		_, err = tx.Exec(ctx, "DECLARE c CURSOR FOR SELECT id, balance FROM accounts ORDER BY id")
		note(sqltest.Code(err))
		rows, err := tx.Query(ctx, "FETCH 2 FROM c")
		note(sqltest.Code(err))
		for rows.Next() {
			note(rows.Values())
		}
		note(sqltest.Code(rows.Err()), sqltest.Code(tx.Commit(ctx)))
		several := c.PgConn().Exec(ctx, "BEGIN; UPDATE accounts SET balance = 1 WHERE id = 4; COMMIT; "+
			"SELECT 1; SELECT 2, 3")
		results, err := several.ReadAll()
		for _, r := range results {
			note(len(r.FieldDescriptions), r.Rows, r.CommandTag)
		}
		note(sqltest.Code(err))
		_, err = c.Prepare(ctx, "mine", "SELECT balance FROM accounts WHERE id = $1")
		note(sqltest.Code(err))
		note(simple(ctx, c, "SELECT 1; /* x */ EXECUTE \"mine\" (4); SELECT 2"), simple(ctx, c, "DEALLOCATE ALL"),
			simple(ctx, c, "EXECUTE mine(4)"))
		note(simple(ctx, c, "PREPARE mine AS SELECT id, id, id, id FROM accounts WHERE id = $1"),
			simple(ctx, c, "EXECUTE mine(4)"), simple(ctx, c, "DEALLOCATE mine"))
		for _, again := range []string{"DEALLOCATE PREPARE \"other\"", "DISCARD ALL"} {
			_, err = c.Prepare(ctx, "other", "UPDATE accounts SET balance = 4 WHERE id = $1")
			note(sqltest.Code(err), simple(ctx, c, "EXECUTE other(1)"), simple(ctx, c, again))
			note(simple(ctx, c, "PREPARE other AS SELECT 1, 2, 3"), simple(ctx, c, "EXECUTE other"))
			c.DeallocateAll(ctx)
		}
		var far []byte
		note(sqltest.Code(c.QueryRow(ctx, "SELECT repeat('x', 3000000)::bytea").Scan(&far)), len(far))
		return out
	}
	want := run(direct.String())
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := &sqlstmt.Log{Rec: rec}
	got := run(start(t, direct, proxy.Options{Log: log}))
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("step %d: through the proxy\n%.500s\nelse\n%.500s", i, got[min(i, len(got)-1)], want[i])
		}
	}
	t.Logf("%+v; %v", rec.Stats(), log.Stats())
	judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.StrictSerializable: ""})
}

// answers sends messages, and a Sync if it is missing. It returns what comes up to the end, or to what has to be sent.
func answers(t *testing.T, c *pgx.Conn, messages ...pgproto3.FrontendMessage) (out []string) {
	t.Helper()
	must.OK(t, c.PgConn().Conn().SetDeadline(time.Now().Add(30*time.Second)))
	f := c.PgConn().Frontend()
	until := "*pgproto3.ReadyForQuery"
	_, executes := messages[len(messages)-1].(*pgproto3.Execute)
	switch messages[len(messages)-1].(type) {
	case *pgproto3.Flush:
		until = "*pgproto3.CommandComplete"
	case *pgproto3.Query, *pgproto3.FunctionCall, *pgproto3.Sync:
	default:
		messages = append(messages, &pgproto3.Sync{})
	}
	for _, m := range messages {
		f.Send(m)
	}
	must.OK(t, f.Flush())
	for {
		m := must.Get(f.Receive())(t)
		kind := fmt.Sprintf("%T", m)
		switch m := m.(type) {
		case *pgproto3.RowDescription:
			out = append(out, fmt.Sprint(len(m.Fields)))
		case *pgproto3.ParameterDescription:
			out = append(out, fmt.Sprint("types ", m.ParameterOIDs))
		case *pgproto3.DataRow:
			out = append(out, fmt.Sprintf("%q", m.Values))
		case *pgproto3.CommandComplete:
			out = append(out, string(m.CommandTag))
		case *pgproto3.ErrorResponse:
			out = append(out, fmt.Sprint(m.Code, m.Message, m.Position))
		default:
			out = append(out, kind)
		}
		if kind == until || kind == "*pgproto3.CopyInResponse" && executes {
			return out
		}
	}
}

// TestPortals: rows that come in parts are recorded in parts, and those of the first are not absent from the second;
// SQL can FETCH from a portal of the protocol's, and a statement of SQL's can take its name. Rows older than what
// another statement wrote are not recorded.
func TestPortals(t *testing.T) {
	direct := postgres(t)
	run := func(address string) (out []string) {
		c := connect(t, address)
		do(t, c, fresh...)
		send := func(messages ...pgproto3.FrontendMessage) { out = append(out, answers(t, c, messages...)...) }
		query := func(texts ...string) {
			for _, text := range texts {
				send(&pgproto3.Query{String: text})
			}
		}
		rows := &pgproto3.Execute{Portal: "p", MaxRows: 2}
		query("BEGIN")
		send(&pgproto3.Parse{Query: "SELECT id, v FROM accounts ORDER BY id"},
			&pgproto3.Bind{DestinationPortal: "p"}, rows)
		query("UPDATE accounts SET v = 9 WHERE id = 3")
		send(rows)
		send(&pgproto3.Parse{Query: "SELECT id FROM accounts WHERE id IN (1, 2, 3)"},
			&pgproto3.Bind{DestinationPortal: "r"}, &pgproto3.Execute{Portal: "r", MaxRows: 2})
		query("FETCH ALL FROM r", "COMMIT", "BEGIN")
		send(&pgproto3.Parse{Query: "SELECT id FROM accounts WHERE id IN (1, 2, 3) ORDER BY id"},
			&pgproto3.Bind{DestinationPortal: "p"}, &pgproto3.Describe{ObjectType: 'P', Name: "p"}, rows, rows, rows)
		send(&pgproto3.Parse{Name: "s", Query: "UPDATE accounts SET v = 1 WHERE id < 4 RETURNING id"},
			&pgproto3.Bind{PreparedStatement: "s", DestinationPortal: "q"},
			&pgproto3.Execute{Portal: "q", MaxRows: 2})
		query("FETCH ALL FROM q")
		send(&pgproto3.Parse{Query: "EXECUTE s"}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{},
			&pgproto3.Execute{})
		send(&pgproto3.Parse{Query: "SELECT id FROM accounts WHERE id = 1"}, &pgproto3.Bind{}, &pgproto3.Execute{})
		query("PREPARE w AS SELECT 1, 2, 3, 4, 5")
		send(&pgproto3.Bind{PreparedStatement: "w"}, &pgproto3.Execute{})
		query("CLOSE p", "DECLARE p CURSOR FOR SELECT 1, 2, 3, 4, 5")
		send(&pgproto3.Parse{Query: "FETCH ALL FROM p"}, &pgproto3.Bind{}, &pgproto3.Execute{})
		// Statements end the transaction, and an error behind them undoes what came between.
		send(&pgproto3.Parse{Query: "COMMIT"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Parse{Query: "UPDATE accounts SET v = 7 WHERE id = 1"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Bind{PreparedStatement: "nothing"})
		send(&pgproto3.Parse{Query: "UPDATE accounts SET v = 6 WHERE id = 1"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Parse{Query: "VACUUM accounts"}, &pgproto3.Bind{}, &pgproto3.Execute{}, // it commits both
			&pgproto3.Bind{PreparedStatement: "nothing"})
		query("UPDATE accounts SET v = v + 1 WHERE id = 1")
		send(&pgproto3.Parse{Name: "t", Query: "SELECT v FROM accounts"})
		query("SET search_path = x")
		send(&pgproto3.Bind{PreparedStatement: "t"})
		query("RESET search_path")
		// An error of Bind or of a function ends the transaction, too.
		for _, wrong := range []pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: "nothing"},
			&pgproto3.FunctionCall{Function: 1}} {
			query("BEGIN", "UPDATE accounts SET v = 8 WHERE id = 2")
			send(wrong)
			query("COMMIT; SELECT 1", "UPDATE accounts SET v = v + 1 WHERE id = 2")
		}
		// What a failed transaction describes, what a pipeline that ends one runs twice, and what a write does not see
		// of one whose rows are left.
		describe := &pgproto3.Describe{ObjectType: 'S', Name: "u"}
		send(&pgproto3.Parse{Name: "u", Query: "UPDATE accounts SET v = v + 5 WHERE id = $1"}, describe)
		query("BEGIN")
		send(&pgproto3.Parse{Query: "SELECT *, 1/0 FROM accounts"}, &pgproto3.Bind{}, &pgproto3.Execute{})
		send(describe)
		send(&pgproto3.Parse{Query: "ROLLBACK"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Parse{Query: "UPDATE accounts SET v = 3"}, &pgproto3.Bind{}, &pgproto3.Execute{},
			&pgproto3.Execute{})
		send(&pgproto3.Parse{Query: "UPDATE accounts SET v = 3 + v WHERE id < 3 RETURNING v"}, &pgproto3.Bind{},
			&pgproto3.Execute{MaxRows: 1}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 1})
		send(&pgproto3.Parse{Query: "SELECT * FROM accounts ORDER BY 99"}) // errors that count columns
		send(&pgproto3.Parse{Query: "SELECT id FROM accounts"}, &pgproto3.Bind{ResultFormatCodes: []int16{0, 1, 0}})
		// The server skips the end of a statement, and the beginning of a transaction.
		send(&pgproto3.Parse{Query: "nothing"}, &pgproto3.Close{ObjectType: 'S', Name: "s"},
			&pgproto3.Parse{Query: "BEGIN"}, &pgproto3.Bind{}, &pgproto3.Execute{})
		send(&pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{})
		query("ROLLBACK", "BEGIN", "SAVEPOINT a")
		send(&pgproto3.Parse{Query: "nothing"}, &pgproto3.Parse{Query: "COMMIT"}, &pgproto3.Bind{}, &pgproto3.Execute{})
		query("ROLLBACK TO a", "UPDATE accounts SET v = 2 WHERE id = 2", "COMMIT", "BEGIN")
		for _, most := range []uint32{1, 2, 3, 4} { // as asyncpg fetches a row
			parts := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "UPDATE accounts SET v = v + 3 WHERE id < 4 " +
				"RETURNING id"}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: most}, &pgproto3.Execute{MaxRows: 1}}
			send(append(parts, &pgproto3.Execute{})...)
			send(&pgproto3.Execute{MaxRows: 1})
		}
		for range 2 { // a write without rows runs once, and then the transaction has failed
			send(&pgproto3.Parse{Query: "UPDATE accounts SET v = 3"}, &pgproto3.Bind{ResultFormatCodes: []int16{0, 1}},
				&pgproto3.Execute{}, &pgproto3.Execute{MaxRows: 1})
		}
		update := &pgproto3.Parse{Query: "UPDATE accounts SET v = v + 6 WHERE id = 5"}
		query("ROLLBACK")
		send(&pgproto3.Parse{Query: "UPDATE accounts SET v = v + 3 WHERE id < 4 RETURNING id"}, &pgproto3.Bind{},
			&pgproto3.Execute{MaxRows: 1})
		c = connect(t, address) // what a name means where a pipeline failed, and the next one comes at once
		send(update)
		send(&pgproto3.Bind{PreparedStatement: "nothing"}, &pgproto3.Query{String: "SELECT 1"}, &pgproto3.Sync{},
			&pgproto3.Bind{}, &pgproto3.Execute{})
		send(&pgproto3.Parse{Name: "u", Query: update.Query})
		send(&pgproto3.Parse{Name: "u", Query: "SELECT 1"}, &pgproto3.Sync{}, &pgproto3.Bind{PreparedStatement: "u"},
			&pgproto3.Execute{})
		query("", "")
		c = connect(t, address)
		query("SELECT 1; COMMIT AND CHAIN", update.Query, "BEGIN", "ROLLBACK", update.Query) // none begins by its error
		return append(out, simple(t.Context(), c, "SELECT * FROM accounts ORDER BY id"))
	}
	want := run(direct.String())
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := &sqlstmt.Log{Rec: rec}
	got := run(start(t, direct, proxy.Options{Log: log}))
	must.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want), "through the proxy")
	t.Logf("%+v; %v", rec.Stats(), log.Stats())
	must.Equal(t, strings.Contains(log.Stats().String(), "rows): UPDATE accounts SET v = v +"), false, "missed")
	judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.StrictSerializable: ""})
}

// TestCopyIn: a COPY of the extended protocol ignores a Sync before the end of its data, and none where it fails first;
// the session goes on.
func TestCopyIn(t *testing.T) {
	direct := postgres(t)
	run := func(address string) (out []string) {
		c := connect(t, address)
		do(t, c, "DROP TABLE IF EXISTS notes", "CREATE TABLE notes (id int PRIMARY KEY)")
		send := func(messages ...pgproto3.FrontendMessage) { out = append(out, answers(t, c, messages...)...) }
		n := 0
		statement := func(text string) []pgproto3.FrontendMessage {
			return []pgproto3.FrontendMessage{&pgproto3.Parse{Query: text}, &pgproto3.Bind{}, &pgproto3.Execute{}}
		}
		next := func(format string) string {
			n++
			return fmt.Sprintf(format, n)
		}
		ok := &pgproto3.CopyDone{}
		for i, end := range []pgproto3.FrontendMessage{ok, ok, &pgproto3.CopyFail{}} {
			data := func() pgproto3.FrontendMessage {
				return &pgproto3.CopyData{Data: []byte(next([]string{"%d\n", "%d is no number\n", "%d\n"}[i]))}
			}
			insert := func() []pgproto3.FrontendMessage { return statement(next("INSERT INTO notes VALUES (%d)")) }
			send(statement("COPY notes FROM STDIN")...)
			send(data(), end)
			send(append(statement("COPY notes FROM STDIN"), &pgproto3.Sync{}, data(), end)...) // at once
			send(insert()...)
			send(append(insert(), statement("COPY notes FROM STDIN")...)...)
			send(data(), end)
			send(insert()...)
		}
		send(&pgproto3.Parse{Query: "COPY nothing FROM STDIN"}, &pgproto3.Bind{}, &pgproto3.Execute{})
		send(statement("COPY notes FROM STDIN")...)
		send(&pgproto3.CopyData{Data: []byte("x\n")}) // and a Sync, which the server takes only behind the error
		send(statement("SELECT * FROM notes ORDER BY id")...)
		return append(out, simple(t.Context(), c, "SELECT * FROM notes ORDER BY id"))
	}
	want := run(direct.String())
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	got := run(start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec}}))
	must.Equal(t, strings.Join(got, "\n"), strings.Join(want, "\n"), "through the proxy, and else")
	judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.StrictSerializable: ""})
}

// TestFlush: the proxy asks nothing while a Sync would commit what the program has not committed. Behind BEGIN it asks.
func TestFlush(t *testing.T) {
	direct := postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := &sqlstmt.Log{Rec: rec}
	c := connect(t, start(t, direct, proxy.Options{Log: log}))
	do(t, c, "DROP TABLE IF EXISTS one, two, three", "CREATE TABLE one (id int PRIMARY KEY)",
		"CREATE TABLE two (id int PRIMARY KEY)", "CREATE TABLE three (id int PRIMARY KEY)")
	answers(t, c, &pgproto3.Parse{Query: "INSERT INTO one VALUES (1) RETURNING id"}, &pgproto3.Bind{},
		&pgproto3.Execute{}, &pgproto3.Flush{})
	answers(t, c, &pgproto3.Parse{Query: "INSERT INTO two VALUES (1 / 0)"}, &pgproto3.Bind{}, &pgproto3.Execute{})
	answers(t, c, &pgproto3.Parse{Query: "BEGIN"}, &pgproto3.Bind{}, &pgproto3.Execute{}, // as JDBC begins
		&pgproto3.Parse{Query: "INSERT INTO three VALUES (1)"}, &pgproto3.Bind{}, &pgproto3.Execute{})
	must.Equal(t, simple(t.Context(), c, "COMMIT"), "0 [] COMMIT", "an end")
	must.Equal(t, len(log.Stats().Missed), 0, "statements were not understood: %v", log.Stats())
	must.Equal(t, simple(t.Context(), c, "SELECT count(*) FROM one"), "1 [[[48]]] SELECT 1", "rows")
	judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.StrictSerializable: ""})
}

// TestBothWays: a large answer and a large message behind it pass each other. A session for replication is told.
func TestBothWays(t *testing.T) {
	log := &sqlstmt.Log{Rec: isovettest.Recorder(t, record.Options{})}
	address := start(t, postgres(t), proxy.Options{Log: log})
	b := &pgx.Batch{}
	b.Queue("SELECT repeat('x', 1000) FROM generate_series(1, 16000)")
	b.Queue("SELECT length($1::text)", strings.Repeat("y", 16<<20))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	must.OK(t, connect(t, address).SendBatch(ctx, b).Close())
	must.Equal(t, len(log.Stats().Missed), 0, "%v", log.Stats())
	connect(t, with(address, "replication=database"))
	must.Equal(t, len(log.Stats().Missed), 1, "%v", log.Stats())
}

// TestLongText: a text that is too long to be parsed counts as a write, also if its beginning is a comment.
func TestLongText(t *testing.T) {
	direct := postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	log := &sqlstmt.Log{Rec: rec}
	c := connect(t, start(t, direct, proxy.Options{Log: log}))
	must.Get(c.Exec(t.Context(), "-- "+strings.Repeat("x", 1<<20)+"\nSELECT 1"))(t)
	missed := log.Stats().Missed
	must.Equal(t, len(missed) == 1 && missed[0].Write, true, "%+v", missed)
}

// TestDatabases: tables of one name in two databases are two.
func TestDatabases(t *testing.T) {
	direct := postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	address := start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec}})
	u := must.Get(url.Parse(address))(t)
	u.Path = "/template1"
	for _, c := range []*pgx.Conn{connect(t, address), connect(t, u.String()), connect(t, address)} {
		do(t, c, "CREATE TABLE IF NOT EXISTS twins (id int PRIMARY KEY)", "SELECT * FROM twins WHERE id = 1",
			"INSERT INTO twins VALUES (1) ON CONFLICT DO NOTHING", "SELECT * FROM twins WHERE id = 1")
	}
	judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.StrictSerializable: ""})
}

// TestReplacedRow: at READ COMMITTED a statement that waited for a row does not find the one that came in its place,
// and finds its new version. The row was there all the time, so it is not recorded as absent.
func TestReplacedRow(t *testing.T) {
	direct := postgres(t)
	rec := isovettest.Recorder(t, record.Options{Meta: history.Meta{DB: "postgresql"}})
	address := start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec}})
	a, b, other := connect(t, address), connect(t, address), connect(t, direct.String())
	do(t, a, fresh...)
	for n, q := range []string{"DELETE FROM accounts WHERE id = 1", "UPDATE accounts SET v = 4 WHERE id = 1"} {
		do(t, a, "BEGIN", q, "INSERT INTO accounts (id) VALUES (1) ON CONFLICT DO NOTHING")
		done := make(chan string, 1)
		go func() { done <- simple(t.Context(), b, "UPDATE accounts SET v = 5 WHERE id = 1 -- waits") }()
		wait(t, other)
		do(t, a, "COMMIT")
		must.Equal(t, <-done, fmt.Sprint("0 [] UPDATE ", n), "%s", q)
	}
	reads := 0
	for _, kind := range must.Get(rec.History())(t).Ops.Kind {
		if kind == history.Read {
			reads++
		}
	}
	must.Equal(t, reads, 3, "reads by DELETE and both UPDATEs")
	judge(t, rec, map[level.Level]string{level.ReadCommitted: "", level.StrictSerializable: ""})
}

// wait waits until a statement waits for a lock.
func wait(t *testing.T, c interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}) {
	for waits := false; !waits; {
		err := c.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)").Scan(&waits)
		must.OK(t, err)
	}
}

// simple runs a text by the simple protocol.
func simple(ctx context.Context, c *pgx.Conn, text string) string {
	results, err := c.PgConn().Exec(ctx, text).ReadAll()
	out := sqltest.Code(err)
	for _, r := range results {
		out += fmt.Sprint(len(r.FieldDescriptions), r.Rows, r.CommandTag)
	}
	return out
}

// TestCancel: a client's cancel reaches the server, and the session goes on.
func TestCancel(t *testing.T) {
	direct := postgres(t)
	rec := isovettest.Recorder(t, record.Options{})
	c, other := connect(t, start(t, direct, proxy.Options{Log: &sqlstmt.Log{Rec: rec}})), connect(t, direct.String())
	// It may meet a question of the proxy's, in a block and else.
	for i, text := range []string{"LOCK TABLE pg_trigger", "SELECT FROM pg_am", "SELECT FROM pg_am"} {
		must.Get(c.Exec(t.Context(), []string{"BEGIN", "BEGIN", "SELECT 1"}[i]))(t)
		lock := must.Get(other.Begin(t.Context()))(t)
		must.Get(lock.Exec(t.Context(), "LOCK TABLE pg_trigger"))(t)
		done := make(chan string, 1)
		go func() { done <- simple(t.Context(), c, text) }()
		wait(t, lock)
		must.OK(t, c.PgConn().CancelRequest(t.Context()))
		must.Equal(t, (<-done)[:5], "57014", "%s", text)
		must.OK(t, lock.Rollback(t.Context()))
		must.Get(c.Exec(t.Context(), "ROLLBACK"))(t)
	}
}
