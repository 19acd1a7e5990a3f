package collect_test

import (
	"context"
	"os"
	"testing"

	"isovet/collect/server"
	"isovet/internal/test/must"
)

// built is the ground truth of servers that are built for it, which takes minutes (.ci/databases).
var built = []expectation{
	// Its serializable is its repeatable read.
	{db: "dolt:start", isolation: "serializable", workload: "claim", txns: 300, ser: violated, si: holds},
	{db: "dolt:start", isolation: "repeatable-read", workload: "list-append", txns: 300, ser: violated, si: holds},
	{db: "dolt:start", isolation: "repeatable-read", workload: "smallbank", keys: 50, txns: 300, ser: violated,
		si: holds},
	{db: "tidb:start", isolation: "optimistic", workload: "smallbank", keys: 20, ser: violated, si: holds},
	{db: "tidb:start", isolation: "optimistic", workload: "rmw", keys: 50, ser: holds, si: holds},
	{db: "tidb:start", isolation: "pessimistic", workload: "rmw", ser: violated, si: violated, kinds: lostUpdate},
	{db: "tidb:start", isolation: "read-committed", workload: "smallbank", keys: 20, ser: violated, si: violated},
}

// TestBuiltDatabases goes through the cells of servers whose binaries are in the folder that ISOVET_DATABASES names.
func TestBuiltDatabases(t *testing.T) {
	dir := os.Getenv("ISOVET_DATABASES")
	if dir == "" {
		t.Skip("needs servers that are built for it; make databases runs it")
	}
	for _, db := range []string{"dolt:start", "tidb:start"} {
		t.Run(db, func(t *testing.T) {
			c := must.Get(server.Start(context.Background(), db+"?bin="+dir))(t)
			defer func() { must.OK(t, c.Close()) }()
			for _, e := range built {
				if e.db == db {
					t.Run(e.isolation+"/"+e.workload, func(t *testing.T) { e.test(t, c.URLs) })
				}
			}
		})
	}
}
