// Package all links the databases that isovet speaks with: whoever imports it can open them by their URLs.
//
// Experimental: this package may still change.
package all

import (
	_ "isovet/collect/driver/keyvalue" // etcd, Redis, Badger
	_ "isovet/collect/driver/mysql"    // MariaDB, MySQL, TiDB, Dolt
	_ "isovet/collect/driver/postgres" // PostgreSQL, CockroachDB, YugabyteDB, H2
	_ "isovet/collect/driver/sqlite"
)
