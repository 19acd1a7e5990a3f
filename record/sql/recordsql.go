// Package recordsql wraps a database/sql driver so that a program's transactions are recorded (package record) without
// changes to the program: begin, commit and rollback with times and outcomes, and the reads and writes of statements.
//
//	rec := record.New(record.Options{})
//	log := recordsql.New(rec) // but for PostgreSQL: recordsql.Table{Name: "accounts", Key: "id", Version: "version"}
//	db := sql.OpenDB(log.Connector(connector)) // or log.Open(driver, dsn)
//	… // the program as it is
//	h, err := rec.History()
//
// # What is recorded
//
// On PostgreSQL, statements are changed to return also the key and PostgreSQL's version (xmin) of each row, which the
// program does not see. The catalogue shows first whether the change could affect the program; then it is not made. A
// row is key "table/key", or "table/a,b"; its versions are numbers of PostgreSQL's transactions.
//
// For other databases, tables must be declared. The wrapper understands SELECT of the version by key (=, IN), of a
// range of keys or of the whole table; INSERT with columns, with ON CONFLICT and ON DUPLICATE KEY if they set the
// version to the new row's; UPDATE that sets the version, and DELETE, by key, or by any condition with RETURNING. Each
// write must make a new version.
//
// Everything recorded is true. Statements that are not understood are left out and counted (Log.Stats). After a write
// that is not understood, no row of its table is recorded as absent; of a declared table no read is recorded. Explicit
// can record such a statement. Rows from before the recording get the value of their first read, unless
// record.Recorder.Initial sets another.
//
// A connection is a session of the history. A statement outside of a transaction is a transaction by itself.
//
// # Outcomes
//
// A failed commit is recorded as aborted if the server's answer says so (Aborted), otherwise as unknown.
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

// Aborted reports whether an error shows that a commit had no effect: by SQLSTATE, by the error numbers of MySQL and
// MariaDB, by SQLite's codes.
func Aborted(err error) bool { return sqlstmt.Aborted(err) }

// Log records the transactions on the connections of its connectors.
type Log struct{ log sqlstmt.Log }

// New returns a Log that records the use of tables on rec.
func New(rec *record.Recorder, tables ...Table) *Log {
	return &Log{log: sqlstmt.Log{Rec: rec, Tables: tables, Callers: true}}
}

// Stats counts the statements on declared tables so far, and says why some were not understood.
func (l *Log) Stats() Stats { return l.log.Stats() }

// Connector wraps a driver's connector, for sql.OpenDB.
func (l *Log) Connector(c driver.Connector) driver.Connector { return &connector{l, c} }

// Open is sql.Open with recording: driverName is the name of the driver that it wraps.
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

// named is a connector for a driver that has none.
type named struct {
	d   driver.Driver
	dsn string
}

func (n named) Connect(context.Context) (driver.Conn, error) { return n.d.Open(n.dsn) }
func (n named) Driver() driver.Driver                        { return n.d }

type explicit struct{}

// Explicit makes note record the statement that runs with the returned context, instead of parsing it. After the
// statement has succeeded and its rows are closed, note is called with its transaction.
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

// Close closes the inner connector, if that has Close.
func (c *connector) Close() error {
	if x, ok := c.inner.(interface{ Close() error }); ok {
		return x.Close()
	}
	return nil
}
