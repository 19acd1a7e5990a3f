package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"isovet/collect/driver"
	"isovet/internal/test/must"
)

// fakePostgres speaks PostgreSQL's protocol: it refuses what a pattern matches, answers some queries with one value,
// and takes everything else. A row of isovet_kv keeps the last u that it was given.
type fakePostgres struct {
	refuse  *regexp.Regexp
	code    string // of its refusals
	answers map[string]string
	// rollbacks says that a rollback undoes; the fake has one row.
	rollbacks bool

	mu   sync.Mutex
	said []string
	mark string
}

var setsMark = regexp.MustCompile(`\(-1,\s*(\d+)`)

// listen returns the URL of the server.
func (f *fakePostgres) listen(t *testing.T) string {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var wait sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		wait.Wait()
	})
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer c.Close()
				f.serve(c)
			})
		}
	})
	return "postgres://me@" + l.Addr().String() + "/db?sslmode=disable"
}

// serve answers one client until it hangs up.
func (f *fakePostgres) serve(c net.Conn) {
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Query:
			f.query(b, m.String)
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Parse:
			b.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Describe:
			b.Send(&pgproto3.ParameterDescription{})
			b.Send(&pgproto3.NoData{})
		case *pgproto3.Sync:
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Terminate:
			return
		}
	}
}

func (f *fakePostgres) query(b *pgproto3.Backend, q string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, q)
	if f.refuse != nil && f.refuse.MatchString(q) {
		b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: f.code, Message: "refused"})
		return
	}
	if m := setsMark.FindStringSubmatch(q); m != nil {
		f.mark = m[1]
	}
	if strings.HasPrefix(q, "update isovet_kv set u = 0") && !f.rollbacks {
		f.mark = "0"
	}
	v, ok := f.answers[q]
	if q == "select u from isovet_kv where k = -1" {
		v, ok = f.mark, true
	}
	if ok {
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("v"), DataTypeOID: 25}}})
		b.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(v)}})
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
}

// TestSend: MERGE is a way of PostgreSQL from release 15.
func TestSend(t *testing.T) {
	for name, want := range map[string]int{"PostgreSQL 14.9": 3, "PostgreSQL 15.1": 4, "CockroachDB v23": 3} {
		p := &server{info: driver.Info{Name: name}}
		must.Equal(t, len(p.Ways()), want, "ways of %s", name)
		must.OK(t, p.Send("upsert=merge"))
		must.Equal(t, p.info.Statements, "upsert=merge", "statements")
		if p.Send("upsert=x") == nil {
			t.Error("upsert=x is taken")
		}
	}
}

// TestWays: what a server that speaks PostgreSQL's protocol refuses is asked for in another way.
func TestWays(t *testing.T) {
	for _, x := range []struct {
		name, refuse      string
		begin, session    string
		upsert            driver.Upsert
		lock              string
		noCopy            bool
		wantErr, isolated string
	}{
		{name: "all that PostgreSQL has", refuse: "^copy",
			begin: "begin isolation level serializable", lock: " for update",
			noCopy: true, isolated: "serializable"},
		{name: "level behind begin", refuse: "^copy|isolation level serializable$",
			begin: "begin", session: "set default_transaction_isolation = 'serializable'", lock: " for update",
			noCopy: true, isolated: "serializable"},
		{name: "level of the session, merge, no locks", noCopy: true,
			refuse: "^copy|^(begin|start).* isolation|on conflict|for update|show transaction_isolation",
			begin:  "begin", session: "set session characteristics as transaction isolation level serializable",
			upsert: driver.Merge, isolated: "serializable, as asked for"},
		{name: "neither on conflict nor merge", refuse: "^copy|on conflict|^merge",
			begin:  "begin isolation level serializable",
			upsert: driver.LookFirst, lock: " for update", noCopy: true, isolated: "serializable"},
		{name: "no such level", refuse: "serializable", wantErr: "refused"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := &fakePostgres{refuse: regexp.MustCompile(x.refuse), code: "42601", rollbacks: true,
				answers: map[string]string{"select version()": "SomeDB 1.0",
					"show transaction_isolation": "serializable"}}
			db, err := driver.Open(context.Background(), []string{f.listen(t)},
				driver.Options{Isolation: "serializable"})
			if x.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), x.wantErr) {
					t.Fatalf("error %v, expected %q", err, x.wantErr)
				}
				return
			}
			must.OK(t, err)
			rows := func(yield func(int64, driver.Row) bool) { yield(0, driver.Row{Version: 1, Payload: 5}) }
			must.OK(t, db.Load(context.Background(), driver.Data{Rows: rows, Lists: true, Mark: 77}))
			s := must.Get(db.Connect(context.Background(), 0))(t)
			s.Close()
			w := db.(*server).ways
			if w.begin != x.begin || strings.Join(w.session, ";") != x.session || w.upsert != x.upsert ||
				w.lock != x.lock || w.noCopy != x.noCopy || db.Info().Isolation != x.isolated {
				t.Errorf("found %+v at %q, expected %+v", w, db.Info().Isolation, x)
			}
			must.OK(t, db.Close())
		})
	}
}

// TestNoRollback: a server whose transactions end behind our back would make any history look wrong, so it is refused.
// H2 is one where the level is set within a transaction.
func TestNoRollback(t *testing.T) {
	f := &fakePostgres{refuse: regexp.MustCompile("^copy"), code: "42601",
		answers: map[string]string{"select version()": "X"}}
	db, err := driver.Open(context.Background(), []string{f.listen(t)}, driver.Options{})
	if err == nil {
		err = db.Load(context.Background(), driver.Data{Rows: func(func(int64, driver.Row) bool) {}, Mark: 77})
	}
	if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "remain after its rollback") {
		t.Errorf("error %v", err)
	}
}

// TestWireClasses: what the errors of those who speak PostgreSQL's protocol mean for a transaction.
func TestWireClasses(t *testing.T) {
	p := &server{}
	for _, x := range []struct {
		who, code, text string
		want            driver.Class
	}{
		{"PostgreSQL", "40001", "could not serialize access due to concurrent update", driver.Aborted},
		{"PostgreSQL", "40P01", "deadlock detected", driver.Aborted},
		{"PostgreSQL", "57P01", "terminating connection due to administrator command", driver.Lost},
		{"PostgreSQL", "42P01", "relation does not exist", driver.Fatal},
		{"CockroachDB", "40001", "restart transaction: WriteTooOldError", driver.Aborted},
		{"CockroachDB", "40003", "result is ambiguous: error=rpc error", driver.Unclear},
		{"CockroachDB", "57P01", "server is shutting down", driver.Lost},
		{"YugabyteDB", "40001", "Operation expired: Transaction expired or aborted by a conflict", driver.Aborted},
		{"YugabyteDB", "XX000", "Operation expired: Transaction aborted: kAborted", driver.Aborted},
		{"YugabyteDB", "XX000", "Restart read required at: { read: … }", driver.Aborted},
		{"YugabyteDB", "XX000", "Timed out: Commit of transaction", driver.Unclear},
		{"PostgreSQL", "XX000", "unexpected", driver.Fatal},
		{"H2", "90131", "Concurrent update in table", driver.Aborted},
		{"H2", "HYT00", "Timeout trying to lock table", driver.Aborted},
		{"H2", "90067", "Connection is broken", driver.Lost},
		{"H2", "90098", "The database has been closed", driver.Lost},
		{"H2", "HY000", `General error: "Transaction was illegally transitioned from CLOSED to ROLLING_BACK"`,
			driver.Lost},
		{"H2", "HY000", "General error", driver.Fatal},
	} {
		must.Equal(t, p.Classify(&pgconn.PgError{Code: x.code, Message: x.text}), x.want, "%s %s %s", x.who, x.code,
			x.text)
	}
}
