package collect_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/certify"
	"isovet/collect/probe"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// probeTruth is what probes of databases that are known must find: what is seen, and what must not be.
var probeTruth = []struct {
	db, isolation string
	seen, never   []string
	contradicts   []string
	rare          []string // may be seen under load, and contradicts the documentation then
	rareLoad      string   // the workload that may show the fault of contradicts under other names too
}{
	{db: "badger:", isolation: "serializable", seen: []string{"phantom write skew"},
		never: []string{"write skew", "lost update", "read-only anomaly", "read skew", "aborted read",
			"phantom read"},
		contradicts: []string{"phantom write skew"}},
	{db: "badger:", isolation: "no-conflicts", seen: []string{"lost update", "write skew", "read-only anomaly"},
		never: []string{"read skew", "non-repeatable read", "aborted read", "phantom read", "dirty write"}},
	{db: "sqlite:", isolation: "serializable",
		never: []string{"phantom write skew", "write skew", "lost update", "read skew", "aborted read", "stale read"}},
	{db: "postgres:start", isolation: "serializable",
		never: []string{"write skew", "lost update", "read-only anomaly", "read skew", "aborted read", "dirty write",
			"stale read"},
		// The first transactions that look into an empty index: one run of claim in 60 (docs/collect.md).
		rare: []string{"phantom write skew"}},
	{db: "postgres:start", isolation: "repeatable-read", seen: []string{"write skew", "phantom write skew",
		"read-only anomaly"}, never: []string{"lost update", "read skew", "phantom read", "long fork", "dirty write",
		"lost predicate update", "aborted read"}},
	{db: "postgres:start", isolation: "read-committed", seen: []string{"lost update", "non-repeatable read",
		"phantom read", "read skew", "write skew", "long fork"}, never: []string{"aborted read", "dirty write",
		"intermediate read", "circular information flow", "vanishing transaction"}},
	{db: "mariadb:start", isolation: "serializable",
		never: []string{"phantom write skew", "write skew", "lost update", "read skew", "aborted read"}},
	{db: "mariadb:start", isolation: "snapshot-isolation", seen: []string{"write skew", "lost predicate update"},
		never: []string{"lost update", "read skew", "aborted read", "dirty write"},
		// An update by a secondary index skips rows that were deleted since the snapshot.
		contradicts: []string{"lost predicate update"},
		// Load meets the same fault, booking in seconds; what the transaction then reads has another name.
		rare: []string{"non-repeatable read"}, rareLoad: "booking"},
	{db: "mariadb:start", isolation: "repeatable-read", seen: []string{"write skew", "lost update"},
		never: []string{"aborted read", "dirty write", "intermediate read"}},
	{db: "mariadb:start", isolation: "read-uncommitted", seen: []string{"aborted read", "intermediate read",
		"circular information flow", "lost update"}},
}

// TestProbe: probes agree with what is known of the databases, and what they show is certified: by schedule alone, each
// step behind the answer to the one before; with ISOVET_LONG=1 under load too.
func TestProbe(t *testing.T) {
	for _, e := range probeTruth {
		t.Run(e.db+e.isolation, func(t *testing.T) {
			load := histtest.Long(0, 2*time.Second)
			if server.Is(e.db) {
				needServers(t)
			} else if e.db == "badger:" {
				load = 0
			} else if testing.Short() {
				t.Skip("waits for locks")
			}
			p, err := probe.Run(context.Background(), probe.Config{DB: []string{e.db},
				Isolations: []string{e.isolation}, Load: load, Seed: 7})
			if errors.Is(err, server.ErrMissing) && os.Getenv("ISOVET_SERVERS") == "" {
				t.Skipf("NOT RUN, a server is missing: %v", err)
			}
			must.OK(t, err)
			was := func(name string) *probe.Cell {
				c := p.Cell(name, e.isolation)
				if c == nil {
					t.Fatalf("no cell for %s", name)
				}
				return c
			}
			for _, name := range e.seen {
				if c := was(name); c.Seen != probe.BySchedule && c.Seen != probe.UnderLoad {
					t.Errorf("%s: %v (%s); expected it to be seen", name, c.Seen, c.How)
				}
			}
			byRareLoad := func(c *probe.Cell) bool {
				return e.rareLoad != "" && c.Seen == probe.UnderLoad &&
					strings.HasPrefix(c.Schedule, "load: "+e.rareLoad+",")
			}
			for _, name := range e.never {
				c := was(name)
				if (c.Seen == probe.BySchedule || c.Seen == probe.UnderLoad) && !byRareLoad(c) {
					t.Errorf("%s: %v by %s; expected that it cannot be", name, c.Seen, c.Schedule)
				}
			}
			var contradictions []string
			for _, c := range p.Contradictions() {
				if slices.Contains(e.rare, c.Phenomenon) && c.Seen == probe.UnderLoad || byRareLoad(c) {
					t.Logf("%s, which is rare: %s", c.Phenomenon, c.Schedule)
					continue
				}
				contradictions = append(contradictions, c.Phenomenon)
			}
			if len(contradictions) != len(e.contradicts) || len(contradictions) > 0 && contradictions[0] !=
				e.contradicts[0] {
				t.Errorf("%v contradict the documentation, expected %v", contradictions, e.contradicts)
			}
			for i := range p.Cells {
				if c := &p.Cells[i]; c.Result != nil {
					if c.Result.Verdict != evidence.Violated {
						t.Errorf("%s: a result that is no violation", c.Phenomenon)
					} else if err := certify.Check(c.Result, certify.Options{}); err != nil {
						t.Errorf("%s: %v", c.Phenomenon, err)
					}
				}
			}
		})
	}
}

// TestProbeNothing: no database is an error, and no panic.
func TestProbeNothing(t *testing.T) {
	if p, err := probe.Run(t.Context(), probe.Config{}); err == nil || p != nil {
		t.Errorf("%v, %v", p, err)
	}
}
