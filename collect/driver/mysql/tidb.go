package mysql

import (
	"context"

	"isovet/collect/driver"
	"isovet/level"
)

func init() {
	driver.Register(driver.Scheme{
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
		Promises: []driver.Promise{
			driver.NewPromise("TiDB", "optimistic", []level.Level{level.SnapshotIsolation},
				"TiDB documentation, TiDB Transaction Isolation Levels: repeatable read is snapshot isolation, of "+
					"optimistic transactions", nil),
			driver.NewPromise("TiDB", "pessimistic", []level.Level{level.ReadCommitted},
				"TiDB documentation, TiDB Pessimistic Transaction Mode: writes and locking reads see what is "+
					"newest", driver.MixedReads),
			driver.NewPromise("TiDB", "read-committed", []level.Level{level.ReadCommitted},
				"TiDB documentation, TiDB Transaction Isolation Levels", nil),
		},
	}, openTiDB)
}

// openTiDB forbids the server to repeat a transaction by itself, because the client would not see the repeated reads.
func openTiDB(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
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
	return connect(ctx, urls, o, setup...)
}

// noRetry sets TiDB's default; its newest versions lack the setting.
const noRetry = "set session tidb_disable_txn_auto_retry = 1"
