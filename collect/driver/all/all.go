// Package all links all drivers. A program that imports it can open every database by its URL.
//
// Experimental: this package may still change.
package all

import (
	_ "isovet/collect/driver/keyvalue" // etcd, Redis, Badger
	_ "isovet/collect/driver/mysql"    // MariaDB, MySQL, TiDB, Dolt
	_ "isovet/collect/driver/postgres" // PostgreSQL, CockroachDB, YugabyteDB, H2
	_ "isovet/collect/driver/sqlite"
)
