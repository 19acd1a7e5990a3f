package databases

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"isovet/check"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/evidence"
	"isovet/level"
)

func TestMain(m *testing.M) {
	Register()
	os.Exit(m.Run())
}

const (
	holds    = evidence.Holds
	violated = evidence.Violated
)

// TestGroundTruth: what a right checker must say of the histories that a database gives at an isolation. Where a
// violation is expected, rounds are repeated: whether transactions collide is chance.
func TestGroundTruth(t *testing.T) {
	for _, x := range []struct {
		db, isolation, workload string
		keys, txns              int
		ser, si                 evidence.Verdict
	}{
		{"bbolt:", "serializable", "mix", 50, 800, holds, holds},
		{"bbolt:", "serializable", "list-append", 0, 400, holds, holds},
		{"pebble:", "batch", "rmw", 20, 1500, violated, violated},
		{"pebble:", "snapshot", "rmw", 20, 1500, violated, violated},
		{"firebird:start", "snapshot", "list-append", 0, 200, violated, holds},
		{"firebird:start", "snapshot", "claim", 0, 200, violated, holds},
		{"firebird:start", "read-committed", "rmw", 0, 600, violated, violated},
	} {
		t.Run(x.db+"/"+x.isolation+"/"+x.workload, func(t *testing.T) {
			for seed := range uint64(10) {
				r, err := collect.Run(context.Background(), collect.Config{DB: []string{x.db}, Isolation: x.isolation,
					Workload: x.workload, Keys: x.keys, Txns: x.txns, Sessions: 8, Seed: seed,
					Timeout: 10 * time.Second})
				if errors.Is(err, server.ErrMissing) && os.Getenv("ISOVET_SERVERS") == "" {
					t.Skipf("NOT RUN, a server is missing: %v", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %d committed, %d aborted in %.1f s", r.Summary.DB, r.Summary.Committed, r.Summary.Aborted,
					r.Summary.Elapsed.Seconds())
				if look(t, r, level.Serializable, x.ser) && look(t, r, level.SnapshotIsolation, x.si) {
					return
				}
			}
			t.Error("no round has shown what is to be seen")
		})
	}
}

// look reports whether a verdict is the one that is wanted; a violation that must not be is a failure at once.
func look(t *testing.T, r *collect.Result, l level.Level, want evidence.Verdict) bool {
	t.Helper()
	c, _ := check.Auto(r.History, l)
	res, err := check.Run(context.Background(), c, r.History, check.Options{Level: l})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict == evidence.Unknown || want == holds && res.Verdict != holds {
		t.Fatalf("%v: %v, expected %v", l, res.Verdict, want)
	}
	return res.Verdict == want
}

// TestPromises: each is of an isolation that its database has.
func TestPromises(t *testing.T) {
	for _, s := range driver.All() {
		for _, p := range s.Promises {
			if p.Source == "" || !slices.ContainsFunc(s.Isolations, func(i string) bool {
				return i == p.Isolation || len(i) > len(p.Isolation) && i[:len(p.Isolation)+1] == p.Isolation+"="
			}) {
				t.Errorf("%s promises %q", s.Name, p.Isolation)
			}
		}
	}
}
