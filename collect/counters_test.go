package collect_test

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite"

	"isovet/collect"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// lostCounts are the writes of committed transactions beyond the first of each value: a counter grew once where two
// transactions had counted. The sum of all counters falls short by that and, where a counter's last write took it back
// to an earlier value, by more; without lost updates it is what was counted.
func lostCounts(t *testing.T, h *history.History) (lost, counted int64) {
	t.Helper()
	type version struct {
		key   uint32
		value int64
	}
	seen := map[version]bool{}
	for x := range uint32(h.NumTxns()) {
		if x == h.Init || h.Txns.Status[x] == history.Aborted {
			continue
		}
		must.Same(t, h.Txns.Status[x], history.Committed, "transaction %d", h.Txns.ID[x])
		for lo, hi := h.TxnOps(x); lo < hi; lo++ {
			if h.Ops.Kind[lo] != history.Write {
				continue
			}
			counted++
			v := version{h.OpKey(lo), h.VerValue(h.Ops.Ver[lo]).N}
			if seen[v] {
				lost++
			}
			seen[v] = true
		}
	}
	return lost, counted
}

// agree collects a round of counters, asks the database what they hold, and compares: what isovet says, what the
// history says, what SQL says.
func agree(t *testing.T, d *collect.Target, c collect.Config, db *sql.DB) (lost int64) {
	t.Helper()
	r := must.Get(d.Collect(t.Context(), c))(t)
	var sum int64
	must.OK(t, db.QueryRowContext(t.Context(), "select sum(p) from isovet_kv where k >= 0").Scan(&sum))
	lost, counted := lostCounts(t, r.History)
	if short := counted - sum; short < lost || (short > 0) != (lost > 0) {
		t.Errorf("%d times counted, the sum falls short by %d; the history has %d lost", counted, short, lost)
	}
	want := evidence.Holds
	if lost > 0 {
		want = evidence.Violated
	}
	verdict(t, r.History, level.Serializable, want)
	return lost
}

// TestCounters: SQLite loses nothing, and its sum says so.
func TestCounters(t *testing.T) {
	file := t.TempDir() + "/db"
	c := collect.Config{DB: []string{"sqlite:" + file}, Workload: "counters", Variant: "pairs", Txns: 500, Sessions: 8}
	d := open(t, c)
	db := must.Get(sql.Open("sqlite", "file:"+file))(t)
	defer db.Close()
	must.Equal(t, agree(t, d, c, db), 0, "lost")
	// Without conflict detection the same workload loses some.
	r := run(t, collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "counters", Txns: 1500,
		Sessions: 8, Think: 100_000})
	lost, _ := lostCounts(t, r.History)
	if lost == 0 {
		t.Fatal("no lost update on Badger without conflict detection")
	}
	verdict(t, r.History, level.SnapshotIsolation, evidence.Violated)
}

// urlParts are a mysql:// URL's user, network, address and database.
func urlParts(t *testing.T, s string) (user, network, address, name string) {
	t.Helper()
	u := must.Get(url.Parse(s))(t)
	return u.User.Username(), "tcp", u.Host, strings.Trim(u.Path, "/")
}

// TestCountersOnServers: MariaDB's repeatable read loses updates of two who write the same, and what SQL counts
// afterwards is what the history has.
func TestCountersOnServers(t *testing.T) {
	needServers(t)
	urls := started(t, "mariadb:start")
	for _, e := range []struct {
		isolation, variant string
		loses              bool
	}{{"repeatable-read", "default", true}, {"repeatable-read", "locking", false}, {"serializable", "pairs", false}} {
		c := collect.Config{DB: urls, Isolation: e.isolation, Workload: "counters", Variant: e.variant, Txns: 1500}
		d := open(t, c)
		cfg := mysql.NewConfig()
		cfg.User, cfg.Net, cfg.Addr, cfg.DBName = urlParts(t, urls[0])
		db := must.Get(sql.Open("mysql", cfg.FormatDSN()))(t)
		lost := agree(t, d, c, db)
		must.OK(t, db.Close())
		t.Logf("%s, %s: %d lost", e.isolation, e.variant, lost)
		must.Equal(t, lost > 0, e.loses, "%s, %s: some of %d lost", e.isolation, e.variant, lost)
	}
}
