package collect_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestHuntByItself: a hunt without a workload takes turns between several, finds what is there, and tells which one it
// was; where nothing is there, it finds nothing.
func TestHuntByItself(t *testing.T) {
	c := hunt.Config{Config: collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Sessions: 8,
		Txns: 100}, Level: level.SnapshotIsolation, For: 20 * time.Second}
	h, err := hunt.Run(t.Context(), c)
	must.OK(t, err)
	if n := len(h.Rounds); !h.Violated || h.Rounds[n-1].Workload == "" {
		t.Errorf("violated %v in %d rounds, last %+v; expected a violation, and its workload", h.Violated, n,
			h.Rounds[n-1])
	}
	c.DB, c.Isolation, c.For = []string{"sqlite:"}, "", time.Minute
	c.Level = level.Serializable
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	seen := map[string]bool{}
	c.Told = func(r hunt.Round) {
		if seen[r.Workload+"/"+r.Variant] = true; len(seen) == 3 {
			enough()
		}
	}
	h = must.Get(hunt.Run(ctx, c))(t)
	if h.Violated || len(seen) < 3 {
		t.Errorf("violated %v; workloads %v; expected no violation and several", h.Violated, seen)
	}
	c.Variant = "locking"
	if _, err := hunt.Run(t.Context(), c); err == nil {
		t.Error("a variant without a workload is taken")
	}
}

// TestHuntsByItself: on servers, within a minute each, whatever is known of them: lost updates and write skew. Where a
// database keeps its promise nothing is found, in thousands of transactions.
func TestHuntsByItself(t *testing.T) {
	needServers(t)
	for _, e := range []struct {
		db, isolation string
		level         level.Level
		finds         bool
	}{
		{"postgres:start", "read-committed", level.SnapshotIsolation, true},
		{"postgres:start", "repeatable-read", level.Serializable, true},
		{"postgres:start", "repeatable-read", level.SnapshotIsolation, false},
		{"mariadb:start", "repeatable-read", level.SnapshotIsolation, true},
		{"mariadb:start", "serializable", level.Serializable, false},
		{"sqlite:", "", level.Serializable, false},
		{"badger:", "", level.SnapshotIsolation, false},
		{"redis:start", "", level.Serializable, false},
	} {
		t.Run(e.db+"/"+e.isolation, func(t *testing.T) {
			c := hunt.Config{Config: collect.Config{DB: []string{e.db}, Isolation: e.isolation}, Level: e.level,
				For: 60 * time.Second}
			if !e.finds {
				c.For = time.Duration(histtest.Long(5, 20)) * time.Second
			}
			c.Told = func(r hunt.Round) {
				t.Logf("%s %s, %d keys: %v; %d committed, %d aborted, %v %s", r.Workload, r.Variant, r.Keys, r.Verdict,
					r.Summary.Committed, r.Summary.Aborted, r.At.Round(10*time.Millisecond), r.Reason)
			}
			c.DB = started(t, e.db)
			h, err := hunt.Run(context.Background(), c)
			for err == nil && !h.Violated && h.Committed < 100 && c.For < 2*time.Minute { // a busy machine
				c.For *= 3
				h, err = hunt.Run(context.Background(), c)
			}
			must.OK(t, err)
			must.Equal(t, h.Violated, e.finds, "violated, %d committed", h.Committed)
			if !e.finds && h.Committed < 100 { // thousands, but on the slowest of machines
				t.Errorf("%d committed; expected thousands", h.Committed)
			}
		})
	}
}

// TestUniqueInserts: MariaDB's INSERT … ON DUPLICATE KEY UPDATE goes by every unique index, so a row that is inserted
// there would overwrite the one that has its unique value, under another key: a version that nobody wrote. Whatever
// repeatable read allows, nothing is read that was not written.
func TestUniqueInserts(t *testing.T) {
	needServers(t)
	db := started(t, "mariadb:start")
	for seed := range uint64(3) {
		r := run(t, collect.Config{DB: db, Isolation: "repeatable-read", Workload: "rows", Keys: 8, Txns: 500,
			Seed: seed})
		sound(t, r)
		c, _ := check.Auto(r.History, level.ReadCommitted)
		res := must.Get(check.Run(t.Context(), c, r.History, check.Options{Level: level.ReadCommitted}))(t)
		if named(res, []string{"thin-air-read", "aborted-read"}) {
			t.Errorf("seed %d: %s", seed, res.Anomalies[0].Kind)
		}
	}
}

// started starts a server, if it is one to start, and returns its URLs.
func started(t *testing.T, db string) []string {
	t.Helper()
	if !server.Is(db) {
		return []string{db}
	}
	s, err := server.Start(context.Background(), db)
	if errors.Is(err, server.ErrMissing) && os.Getenv("ISOVET_SERVERS") == "" {
		t.Skipf("NOT RUN, a server is missing: %v", err)
	}
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, s.Close()) })
	return s.URLs
}
