// Package recordsql wraps a database/sql driver so that what the program's transactions do is recorded (package record)
// by itself: begin, commit and rollback with their times and outcomes, and what statements read and wrote.
//
//	rec := record.New(record.Options{})
//	log := recordsql.New(rec) // but for PostgreSQL: recordsql.Table{Name: "accounts", Key: "id", Version: "version"}
//	db := sql.OpenDB(log.Connector(connector)) // or log.Open(driver, dsn)
//	… // the program as it is
//	h, err := rec.History()
//
// # What is recorded
//
// On PostgreSQL, statements are sent with the key and PostgreSQL's version of each row (xmin) among what they return,
// which the program does not see. The catalogue decides before whether that changes anything for the program; it never
// does. A row is key "table/key", or "table/a,b"; its versions are numbers of PostgreSQL's transactions.
//
// Elsewhere tables are declared. Understood are: SELECT of the version by key (=, IN), of a range of keys or of the
// whole table; INSERT with columns, ON CONFLICT and ON DUPLICATE KEY where they set the version to the new row's;
// UPDATE that sets the version, and DELETE, by key, or by any condition with RETURNING. Each write makes a new version.
//
// What is recorded is true. What is not understood is left out and counted (Log.Stats). Behind a write that is not
// understood, nothing is said to be absent from its table; of a declared table nothing is recorded as read. Such a
// statement can be run with a context of Explicit, which records it. Rows from before the recording have the value of
// their first read, unless record.Recorder.Initial says another.
//
// A connection is a session of the history's. A statement outside of a transaction is one by itself.
//
// # Outcomes
//
// A commit that fails is recorded as aborted if the server's answer says so (Aborted), else as of unknown outcome.
//
// Experimental: this package may still change.
package recordsql

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"isovet/internal/sqlstmt"
	"isovet/record"
)

// Table is a table whose rows are recorded.
type Table = sqlstmt.Table

// Stats counts statements on declared tables.
type Stats = sqlstmt.Stats

// Aborted is how a commit's error is told apart: by SQLSTATE, by the numbers of MySQL and MariaDB, by SQLite's codes.
func Aborted(err error) bool { return sqlstmt.Aborted(err) }

// Log records what goes through the connections of the connectors that it makes.
type Log struct{ log sqlstmt.Log }

// New returns a Log that records on rec what happens to the rows of tables.
func New(rec *record.Recorder, tables ...Table) *Log {
	return &Log{log: sqlstmt.Log{Rec: rec, Tables: tables, Callers: true}}
}

// Stats counts the statements on declared tables so far, and says why some were not understood.
func (l *Log) Stats() Stats { return l.log.Stats() }

// Connector wraps a driver's connector, for sql.OpenDB.
func (l *Log) Connector(c driver.Connector) driver.Connector { return &connector{l, c} }

// Open is sql.Open with a driver of that name, recorded.
func (l *Log) Open(driverName, dsn string) (*sql.DB, error) {
	db, err := sql.Open(driverName, dsn) // it knows the driver; nothing is connected yet
	if err != nil {
		return nil, err
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, err
	}
	if c, ok := d.(driver.DriverContext); ok {
		inner, err := c.OpenConnector(dsn)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(l.Connector(inner)), nil
	}
	return sql.OpenDB(l.Connector(named{d, dsn})), nil
}

// named is a connector of a driver that has none.
type named struct {
	d   driver.Driver
	dsn string
}

func (n named) Connect(context.Context) (driver.Conn, error) { return n.d.Open(n.dsn) }
func (n named) Driver() driver.Driver                        { return n.d }

type explicit struct{}

// Explicit has a statement that runs with the context recorded by note instead of being parsed: it is called once the
// statement has succeeded and its rows are closed, with the transaction that it was part of.
func Explicit(ctx context.Context, note func(t *record.Txn) error) context.Context {
	return context.WithValue(ctx, explicit{}, note)
}

type connector struct {
	l     *Log
	inner driver.Connector
}

func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	in, err := c.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	x := &conn{in: in}
	x.c = c.l.log.NewClient(x.ask)
	return x, nil
}

// Close closes the inner connector, if it can be.
func (c *connector) Close() error {
	if x, ok := c.inner.(interface{ Close() error }); ok {
		return x.Close()
	}
	return nil
}
