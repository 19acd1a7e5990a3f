package mysql

import (
	"context"

	"isovet/collect/driver"
)

func init() { driver.Register(driver.Scheme{Name: "tidb"}, openTiDB) }

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
