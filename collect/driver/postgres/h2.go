package postgres

import (
	"context"

	"isovet/collect/driver"
)

func init() {
	driver.Register(driver.Scheme{
		Name:  "h2",
		URLs:  []string{"h2"},
		About: "H2, by PostgreSQL's protocol (org.h2.tools.Server -pg)",
		Isolations: []string{
			"default",
			"serializable=ser=session-serializable",
			"snapshot=snapshot-isolation=si=session-snapshot-isolation",
			"repeatable-read=rr",
			"read-committed=rc",
			"read-uncommitted=ru",
		},
		Timestamps: true,
		SQL:        true,
	}, openH2)
}

// openH2 opens H2 by PostgreSQL's protocol. H2's text type is a large object, of which every append to a list would
// make a new one. H2 detects a deadlock only when a time-out ends.
func openH2(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	return connect(ctx, urls, iso, o, ways{settings: []string{"set lock_timeout 50"},
		varchar: "varchar(100000000)", pieces: true})
}
