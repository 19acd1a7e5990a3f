//go:build !offline

package driver

import (
	"context"

	"isovet/level"
)

func init() {
	register(Scheme{
		Name:  "tidb",
		URLs:  []string{"tidb"},
		About: "TiDB, by MySQL's protocol: its optimistic and its pessimistic transactions",
		Isolations: []string{
			"default",
			"optimistic=snapshot-isolation=si=snapshot",
			"pessimistic=repeatable-read=rr",
			"read-committed=rc", // of pessimistic transactions
		},
		SQL: true,
		Promises: []Promise{
			{"TiDB", "optimistic", []level.Level{level.SnapshotIsolation}, "TiDB documentation, TiDB Transaction " +
				"Isolation Levels: repeatable read is snapshot isolation, of optimistic transactions", nil},
			{"TiDB", "pessimistic", []level.Level{level.ReadCommitted}, "TiDB documentation, TiDB Pessimistic " +
				"Transaction Mode: writes and locking reads see what is newest", mixedReads},
			{"TiDB", "read-committed", []level.Level{level.ReadCommitted}, "TiDB documentation, TiDB Transaction " +
				"Isolation Levels", nil},
		},
		open: openTiDB,
	})
}

// openTiDB never lets the server repeat a transaction by itself: the client would have read what the repetition has
// not.
func openTiDB(ctx context.Context, urls []string, iso string, o Options) (DB, error) {
	setup := []string{lockWait}
	mode := map[string]string{"optimistic": "optimistic", "pessimistic": "pessimistic",
		"read-committed": "pessimistic"}[iso]
	if mode != "" {
		setup = append(setup, noRetry, "set session tidb_txn_mode = '"+mode+"'")
	}
	switch iso {
	case "optimistic", "pessimistic":
		setup = append(setup, "set session transaction isolation level repeatable read")
	case "read-committed":
		setup = append(setup, "set session transaction isolation level read committed")
	}
	return connectMySQL(ctx, urls, o, setup...)
}

// noRetry is TiDB's default, and gone from its newest versions.
const noRetry = "set session tidb_disable_txn_auto_retry = 1"
