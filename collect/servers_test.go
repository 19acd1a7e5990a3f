package collect_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/report"
)

// needServers skips tests that start database servers, but in long runs; ISOVET_SERVERS=1 says that all of them are
// installed, so that a missing one is a failure.
func needServers(t *testing.T) {
	if testing.Short() || !histtest.Long(false, true) && os.Getenv("ISOVET_SERVERS") == "" {
		t.Skip("starts database servers; ISOVET_SERVERS=1 or ISOVET_LONG=1 runs it")
	}
}

// open opens a database; where its binaries are not installed, the test is skipped.
func open(t *testing.T, c collect.Config) *collect.Target {
	t.Helper()
	d, err := collect.Open(context.Background(), c)
	if errors.Is(err, server.ErrMissing) && os.Getenv("ISOVET_SERVERS") == "" {
		t.Skipf("NOT RUN, a server is missing: %v", err)
	}
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, d.Close()) })
	return d
}

// expectation is a cell of the ground truth: what a right checker must say of the histories that a database gives at an
// isolation.
type expectation struct {
	db, isolation, workload, variant string
	keys, txns                       int
	ser, si                          evidence.Verdict
	// one of them must be among the anomalies at snapshot isolation; none: any
	kinds []string
	// statements behind the load
	setup []string
}

const (
	holds    = evidence.Holds
	violated = evidence.Violated
	// either: nothing is promised that would tell; but no round may be undecided.
	either = evidence.Unknown
)

// matrix is the ground truth. Where a violation is expected, rounds are repeated with new seeds until one has it:
// whether transactions collide is chance, and a history without a collision is right at every level.
var matrix = []expectation{
	{db: "postgres:start", isolation: "serializable", workload: "smallbank", keys: 20, ser: holds, si: holds},
	{db: "postgres:start", isolation: "serializable", workload: "mix", keys: 50, txns: 600, ser: holds, si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "smallbank", keys: 10, ser: violated, si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "mix", keys: 100, txns: 800, ser: violated,
		si: holds},
	{db: "postgres:start", isolation: "read-committed", workload: "smallbank", keys: 20, ser: violated, si: violated},
	{db: "postgres:start", isolation: "read-committed", workload: "rmw", ser: violated, si: violated,
		kinds: lostUpdate},
	// PostgreSQL 15.18 does not keep its promise while the index that is searched has never had an entry: about one run
	// in 60 ends with two rows of one number (docs/collect.md). With an entry there, it does.
	{db: "postgres:start", isolation: "serializable", workload: "claim", txns: 500, ser: holds, si: holds,
		setup: []string{"insert into isovet_t0 values (-1, -1, -1)"}},
	// It does not either if a search ends at the root of a GiST index, or scans a range of ctid: docs/found.md.
	{db: "postgres:start", isolation: "serializable", workload: "claim", variant: "gist", txns: 500, ser: violated,
		si: holds},
	{db: "postgres:start", isolation: "serializable", workload: "claim", variant: "tid-range", txns: 500, ser: violated,
		si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "claim", txns: 500, ser: violated, si: holds},
	{db: "postgres:start", isolation: "serializable", workload: "claim", variant: "sequential", txns: 500, ser: holds,
		si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "claim", variant: "bitmap", txns: 500, ser: violated,
		si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "claim", variant: "unique", txns: 500, ser: holds,
		si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "claim", variant: "max", txns: 500, ser: violated,
		si: holds},
	{db: "postgres:start", isolation: "serializable", workload: "rows", variant: "ends", txns: 600, ser: holds,
		si: holds},
	{db: "mariadb:start", isolation: "serializable", workload: "claim", txns: 300, ser: holds, si: holds},
	{db: "mariadb:start", isolation: "serializable", workload: "claim", variant: "index-only", txns: 300, ser: holds,
		si: holds},
	{db: "mariadb:start", isolation: "serializable", workload: "claim", variant: "unique", txns: 300, ser: holds,
		si: holds},
	{db: "postgres:start", isolation: "serializable", workload: "counters", variant: "pairs", txns: 600, ser: holds,
		si: holds},
	{db: "postgres:start", isolation: "read-committed", workload: "counters", txns: 600, ser: violated, si: violated,
		kinds: lostUpdate},
	{db: "postgres:start", isolation: "serializable", workload: "rows", txns: 600, ser: holds, si: holds},
	{db: "postgres:start", isolation: "repeatable-read", workload: "rows", txns: 600, ser: violated, si: holds},
	{db: "postgres:start", isolation: "read-committed", workload: "rows", txns: 600, ser: violated, si: violated},
	{db: "mariadb:start", isolation: "serializable", workload: "rows", variant: "locking", txns: 400, ser: holds,
		si: holds},
	{db: "mariadb:start", isolation: "repeatable-read", workload: "rows", txns: 600, ser: violated, si: violated},
	{db: "postgres:start", isolation: "repeatable-read", workload: "rows", variant: "autocommit", txns: 600,
		ser: violated, si: holds},
	{db: "postgres:start", isolation: "read-committed", workload: "rmw", variant: "autocommit", ser: violated,
		si: violated, kinds: lostUpdate},
	{db: "mariadb:start", isolation: "snapshot-isolation", workload: "rmw", variant: "autocommit", keys: 20, txns: 600,
		ser: holds, si: holds},
	{db: "sqlite:", isolation: "serializable", workload: "rows", variant: "index-only", txns: 600, ser: holds,
		si: holds},
	{db: "mariadb:start", isolation: "serializable", workload: "smallbank", keys: 20, txns: 600, ser: holds, si: holds},
	{db: "mariadb:start", isolation: "snapshot-isolation", workload: "mix", keys: 30, txns: 600, ser: violated,
		si: holds},
	{db: "mariadb:start", isolation: "repeatable-read", workload: "rmw", ser: violated, si: violated,
		kinds: lostUpdate},
	{db: "mariadb:start", isolation: "read-committed", workload: "smallbank", keys: 20, ser: violated, si: violated},
	{db: "mariadb:start", isolation: "read-uncommitted", workload: "mix", keys: 200, txns: 1000, ser: violated,
		si: violated, kinds: []string{"G1a"}},
	{db: "galera:start:3", workload: "rmw", ser: violated, si: violated, kinds: lostUpdate},
	{db: "galera:start:3", isolation: "snapshot-isolation", workload: "rmw", keys: 20, txns: 600, ser: holds,
		si: holds},
	{db: "redis:start", isolation: "serializable", workload: "smallbank", keys: 20, ser: holds, si: holds},
	{db: "redis:start", isolation: "none", workload: "rmw", keys: 20, ser: violated, si: violated, kinds: lostUpdate},
	{db: "etcd:start", isolation: "serializable", workload: "mix", keys: 50, txns: 300, ser: holds, si: holds},
	{db: "etcd:start", isolation: "snapshot-isolation", workload: "mix", keys: 30, txns: 300, ser: violated, si: holds},
	{db: "etcd:start", isolation: "none", workload: "rmw", keys: 20, txns: 300, ser: violated, si: violated,
		kinds: lostUpdate},
	// H2's serializable is its snapshot isolation, which its documentation says.
	// Rarely one of H2's locking reads or updates is not refused though its row has changed: docs/found.md.
	{db: "h2:start", isolation: "serializable", workload: "list-append", txns: 300, ser: violated, si: either},
	{db: "h2:start", isolation: "serializable", workload: "claim", txns: 300, ser: violated, si: holds},
	{db: "h2:start", isolation: "snapshot", workload: "list-append", txns: 300, ser: violated, si: either},
	{db: "h2:start", isolation: "read-committed", workload: "rmw", ser: violated, si: violated, kinds: lostUpdate},
	{db: "postgres:start:standby", isolation: "repeatable-read", workload: "longfork", txns: 4000, ser: violated,
		si: violated},
	{db: "sqlite:", isolation: "serializable", workload: "mix", keys: 50, ser: holds, si: holds},
	{db: "badger:", isolation: "serializable", workload: "smallbank", keys: 20, ser: holds, si: holds},
	// Badger's conflict detection knows the rows that an iterator has found, not those that it has missed: phantoms.
	{db: "badger:", isolation: "serializable", workload: "claim", txns: 300, ser: violated, si: holds},
	{db: "badger:", isolation: "no-conflicts", workload: "rmw", keys: 20, ser: violated, si: violated,
		kinds: lostUpdate},
}

// TestGroundTruth starts each server once and goes through its cells.
func TestGroundTruth(t *testing.T) {
	needServers(t)
	var dbs []string
	for _, e := range matrix {
		if !slices.Contains(dbs, e.db) {
			dbs = append(dbs, e.db)
		}
	}
	for _, db := range dbs {
		t.Run(db, func(t *testing.T) {
			at := []string{db}
			if server.Is(db) {
				c, err := server.Start(context.Background(), db)
				if errors.Is(err, server.ErrMissing) && os.Getenv("ISOVET_SERVERS") == "" {
					t.Skipf("NOT RUN, a server is missing: %v", err)
				}
				must.OK(t, err)
				defer func() { must.OK(t, c.Close()) }()
				at = c.URLs
			}
			for _, e := range matrix {
				if e.db == db {
					t.Run(e.isolation+"/"+e.workload, func(t *testing.T) { e.test(t, at) })
				}
			}
		})
	}
}

// test collects until both expectations are met; a verdict that must not be is a failure at once.
func (e expectation) test(t *testing.T, urls []string) {
	const rounds = 15
	var ser, si *evidence.Result
	for seed := range uint64(rounds) {
		r := run(t, collect.Config{DB: urls, Isolation: e.isolation, Workload: e.workload, Variant: e.variant,
			Keys: e.keys, Txns: cmp.Or(e.txns, 1500), Sessions: 24, Seed: seed, SetupSQL: e.setup})
		sound(t, r)
		ser, si = e.look(t, r, level.Serializable, e.ser), e.look(t, r, level.SnapshotIsolation, e.si)
		if t.Failed() || ser.Verdict == e.ser && (e.si == either || si.Verdict == e.si) && e.has(si) {
			t.Logf("seed %d: %s %s: %d committed, %d aborted in %.1f s; SER %v, SI %v", seed, r.Summary.DB,
				r.Summary.Isolation, r.Summary.Committed, r.Summary.Aborted, r.Summary.Elapsed.Seconds(), ser.Verdict,
				si.Verdict)
			return
		}
	}
	t.Errorf("in %d rounds: SER %v, expected %v; SI %v, expected %v %v", rounds, ser.Verdict, e.ser, si.Verdict, e.si,
		e.kinds)
}

// has reports whether the anomaly looked for is there.
func (e expectation) has(r *evidence.Result) bool {
	return len(e.kinds) == 0 || named(r, e.kinds)
}

// named reports whether an anomaly has one of the names.
func named(r *evidence.Result, kinds []string) bool {
	return slices.ContainsFunc(r.Anomalies, func(a evidence.Anomaly) bool {
		return slices.Contains(kinds, string(a.Kind))
	})
}

// lostUpdate are its names: with three or more transactions it is a divergence.
var lostUpdate = []string{"lost-update", "divergence"}

// look checks a history. No round may be undecided, nor violate what the database promises.
func (e expectation) look(t *testing.T, r *collect.Result, l level.Level, want evidence.Verdict) *evidence.Result {
	t.Helper()
	c, _ := check.Auto(r.History, l)
	res := must.Get(check.Run(context.Background(), c, r.History, check.Options{Level: l}))(t)
	if res.Verdict == evidence.Unknown || want == holds && res.Verdict != holds {
		var why strings.Builder
		must.OK(t, report.Text(&why, "why", res, report.TextOptions{}))
		t.Errorf("%v: %v, expected %v\n%s", l, res.Verdict, want, why.String())
	}
	return res
}

// TestBlindWPredRate: on a database blindw-pred, as it is without a variant, is a load that commits.
func TestBlindWPredRate(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "mariadb:start"} {
		t.Run(db, func(t *testing.T) {
			c := collect.Config{DB: []string{db}, Isolation: "serializable", Workload: "blindw-pred", Txns: 3000}
			r := must.Get(open(t, c).Collect(t.Context(), c))(t)
			s := r.Summary
			t.Logf("%s: %d committed, %d aborted in %v", s.Workload, s.Committed, s.Aborted, s.Elapsed)
			if share := float64(s.Aborted) / float64(s.Committed+s.Aborted); s.Committed < 3000 || share > 0.3 {
				t.Errorf("%d committed, %.0f %% aborted; expected 3000, less than 30 %%", s.Committed, 100*share)
			}
			sound(t, r)
			verdict(t, r.History, level.Serializable, holds)
		})
	}
}

// TestServerTimestamps: PostgreSQL's snapshots and etcd's revisions explain every read.
func TestServerTimestamps(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "etcd:start"} {
		t.Run(db, func(t *testing.T) {
			for _, iso := range []string{"snapshot-isolation", "serializable"} {
				c := collect.Config{DB: []string{db}, Isolation: iso, Workload: "rmw", Txns: 1500, Sessions: 16,
					Timestamps: true}
				if db == "etcd:start" {
					c.Txns = 300
				}
				d := open(t, c)
				for _, w := range []string{"rmw", "mix", "smallbank"} {
					c.Workload, c.Keys = w, 50
					r := must.Get(d.Collect(context.Background(), c))(t)
					sound(t, r)
					// At etcd the reads are compared, not the writes: two blind writers of a key may overlap.
					stamped(t, r.History, db == "etcd:start" && iso == "serializable")
				}
			}
		})
	}
}

// TestKilled kills a server in the middle, ten times over: the history is whole, and right at the level that the
// database keeps.
func TestKilled(t *testing.T) {
	needServers(t)
	for _, x := range []struct{ db, isolation, workload string }{
		{"postgres:start", "serializable", "smallbank"},
		{"mariadb:start", "serializable", "rmw"},
		{"redis:start", "serializable", "rmw"},
		{"etcd:start", "serializable", "rmw"},
	} {
		t.Run(x.db, func(t *testing.T) {
			c := collect.Config{DB: []string{x.db}, Isolation: x.isolation, Workload: x.workload, Keys: 50,
				Sessions: 16,
				Duration: 2500 * time.Millisecond, Fault: collect.Fault{Kind: collect.Kill,
					Every: 700 * time.Millisecond}}
			d := open(t, c)
			rounds, aborted, unknown := 3, 0, 0
			if x.db == "postgres:start" {
				rounds = 10
			}
			for seed := range uint64(rounds) {
				c.Seed = seed
				r := must.Get(d.Collect(context.Background(), c))(t)
				sound(t, r)
				verdict(t, r.History, level.Serializable, holds)
				verdict(t, r.History, level.SnapshotIsolation, holds)
				if r.Summary.Committed == 0 {
					t.Error("nothing has committed")
				}
				for _, s := range r.History.Txns.Status {
					if s == history.Aborted {
						aborted++
					}
				}
				unknown += r.Summary.Unknown
			}
			t.Logf("%d rounds, %d aborted, %d of unknown outcome", rounds, aborted, unknown)
			if aborted+unknown == 0 {
				t.Error("no transaction was in flight when the server was killed")
			}
		})
	}
}

// TestPaused: a server that stands still, or that nobody reaches for a while, loses nothing.
func TestPaused(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "mariadb:start", "redis:start", "etcd:start"} {
		t.Run(db, func(t *testing.T) {
			c := collect.Config{DB: []string{db}, Isolation: "serializable", Workload: "smallbank", Keys: 50,
				Sessions: 8, Duration: 2 * time.Second}
			d := open(t, c)
			for _, k := range []collect.FaultKind{collect.Pause, collect.Partition} {
				c.Fault = collect.Fault{Kind: k, Every: 400 * time.Millisecond}
				r := must.Get(d.Collect(context.Background(), c))(t)
				sound(t, r)
				verdict(t, r.History, level.Serializable, holds)
				t.Logf("%v: %d committed, %d aborted, %d of unknown outcome", c.Fault, r.Summary.Committed,
					r.Summary.Aborted, r.Summary.Unknown)
				if r.Summary.Committed == 0 {
					t.Error("nothing has committed")
				}
			}
		})
	}
}

// TestHunts finds what each of these databases is known to do, and nothing where nothing is to be found.
func TestHunts(t *testing.T) {
	needServers(t)
	none := 5 * time.Second
	for _, x := range []struct {
		db, isolation, workload string
		level                   level.Level
		limit                   time.Duration
		kinds                   []string // one of them is the anomaly; empty: none is found
	}{
		{"postgres:start", "repeatable-read", "smallbank", level.Serializable, time.Minute, []string{"write-skew",
			"read-only-anomaly", "G2-item", "G2", "no-version-order"}},
		{"mariadb:start", "", "rmw", level.SnapshotIsolation, time.Minute, lostUpdate},
		{"mariadb:start", "read-uncommitted", "contended", level.SnapshotIsolation, time.Minute, []string{"G1a"}},
		{"galera:start:3", "", "rmw", level.SnapshotIsolation, time.Minute, lostUpdate},
		{"postgres:start:standby", "repeatable-read", "longfork", level.SnapshotIsolation, time.Minute,
			[]string{"long-fork", "no-version-order"}},
		{"postgres:start", "serializable", "smallbank", level.Serializable, none, nil},
		{"sqlite:", "", "smallbank", level.Serializable, none, nil},
		{"badger:", "", "smallbank", level.Serializable, none, nil},
	} {
		t.Run(x.db+"/"+x.isolation+"/"+x.workload, func(t *testing.T) {
			h, err := hunt.Run(context.Background(), hunt.Config{
				Config: collect.Config{DB: []string{x.db}, Isolation: x.isolation, Workload: x.workload},
				Level:  x.level, For: x.limit,
			})
			if errors.Is(err, server.ErrMissing) && os.Getenv("ISOVET_SERVERS") == "" {
				t.Skipf("NOT RUN, a server is missing: %v", err)
			}
			must.OK(t, err)
			t.Logf("%d rounds, %d committed, %d undecided, %.1f s", len(h.Rounds), h.Committed, h.Undecided,
				h.Elapsed.Seconds())
			if h.Violated != (len(x.kinds) > 0) || h.Undecided > 0 {
				t.Fatalf("violated: %v, %d rounds undecided", h.Violated, h.Undecided)
			}
			if !h.Violated {
				return
			}
			t.Logf("found %s", h.Last.Anomalies[0].Kind)
			if !named(h.Last, x.kinds) {
				t.Errorf("expected one of %v", x.kinds)
			}
		})
	}
}
