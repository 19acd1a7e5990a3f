package postgres

import (
	"context"

	"isovet/collect/driver"
)

func init() { driver.Register(driver.Scheme{Name: "h2"}, openH2) }

// openH2 opens H2 by PostgreSQL's protocol. H2's text type is a large object, of which every append to a list would
// make a new one. H2 detects a deadlock only when a time-out ends.
func openH2(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	return connect(ctx, urls, iso, o, ways{settings: []string{"set lock_timeout 50"},
		varchar: "varchar(100000000)", pieces: true, upsert: driver.LookFirst}) // most of its MERGEs would deadlock
}
