// Package databases has adapters of databases whose client libraries are no part of isovet: Firebird, bbolt, Pebble,
// MongoDB and FerretDB, Cassandra and ScyllaDB, rqlite. Its program, cmd/isovet-databases, is isovet that knows them.
//
// Nobody has run those of MongoDB, Cassandra and rqlite against a server of their own; docs/databases.md says what each
// was tested with.
package databases

import (
	"isovet/collect/driver"
	"isovet/collect/server"
)

// Register adds the databases to those that isovet knows. Call it once, before anything is opened.
func Register() {
	server.Register(server.Kind{Name: "firebird", About: "firebird:start", Start: startFirebird})
	driver.RegisterSQL(firebird)
	driver.RegisterStore(boltStore)
	driver.RegisterStore(pebbleStore)
	driver.RegisterStore(rqliteStore)
	driver.RegisterStore(cassandraStore)
	driver.RegisterStore(mongoStore)
}
