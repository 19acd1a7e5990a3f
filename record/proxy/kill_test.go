package proxy_test

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/sqlstmt"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/sqltest"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
	"isovet/record/proxy"
)

// TestKilled: the server dies and comes back, programs break off in the midst of transactions, and the recording is cut
// off: what its files had at some moments, as they would have it if the proxy had been killed then. No history of these
// is a violation.
func TestKilled(t *testing.T) {
	histtest.OnlyLong(t)
	sqltest.Postgres(t)
	c := must.Get(server.Start(t.Context(), "postgres:start"))(t)
	defer c.Close()
	direct := must.Get(url.Parse(c.URLs[0]))(t)
	seed := isovettest.Seed(t)
	dir := filepath.Join(t.TempDir(), "recording")
	rec := must.Get(record.CreateParts(dir, record.Options{Meta: history.Meta{DB: "postgresql"}}, record.Rotation{}))(t)
	log := &sqlstmt.Log{Rec: rec}
	address := startWith(t, direct, proxy.Options{Log: log, OnError: func(error) {}})
	db := must.Get(sql.Open("pgx", address))(t)
	sqltest.Fresh(t, db, nil)
	_ = db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() { breakOff(ctx, address, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
	random := rand.New(rand.NewPCG(seed, 99))
	var cut []string
	for n := range 12 {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		at := filepath.Join(t.TempDir(), "cut")
		must.OK(t, os.CopyFS(at, os.DirFS(dir)))
		cut = append(cut, at)
		if n%4 == 3 {
			c.Kill(0)
			must.OK(t, c.Restart(t.Context(), 0))
		}
	}
	cancel()
	all.Wait()
	must.OK(t, rec.Close())
	t.Logf("%+v; %v", rec.Stats(), log.Stats())
	for _, at := range append(cut, dir) {
		h := must.Get(split.Read(t.Context(), split.Paths(at), format.Options{}))(t)
		for _, l := range []level.Level{level.ReadCommitted, level.SnapshotIsolation, level.Serializable} {
			r := must.Get(isovettest.Run(t.Context(), h, isovettest.Options{Level: l}))(t)
			must.Equal(t, r.Verdict == evidence.Violated, false, "%s: %v: %+v", at, l, r)
		}
	}
	st := rec.Stats()
	must.Equal(t, st.Committed >= 100 && st.Unknown > 0, true, "hundreds of transactions, and unknown ones: %+v", st)
}

// breakOff moves money at REPEATABLE READ, alone and in transactions, and drops its connection now and then.
func breakOff(ctx context.Context, address string, random *rand.Rand) {
	for ctx.Err() == nil {
		c, err := pgx.Connect(ctx, address)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		_, err = c.Exec(ctx, "SET default_transaction_isolation = 'repeatable read'")
		for err == nil && ctx.Err() == nil {
			id := 1 + random.IntN(4)
			texts := []string{"UPDATE accounts SET balance = balance - 1 WHERE id = $1"}
			if random.IntN(2) == 0 {
				texts = []string{"BEGIN", "SELECT balance FROM accounts WHERE id = $1", texts[0], "COMMIT"}
			}
			for _, text := range texts {
				if text == "BEGIN" || text == "COMMIT" {
					_, err = c.Exec(ctx, text)
				} else {
					_, err = c.Exec(ctx, text, id)
				}
				if err != nil || random.IntN(100) == 0 {
					break
				}
			}
			if sqlstmt.Aborted(err) {
				_, err = c.Exec(ctx, "ROLLBACK")
			} else if random.IntN(60) == 0 {
				break
			}
		}
		_ = c.PgConn().Conn().Close() // no word of good-bye
	}
}
