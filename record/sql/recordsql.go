// Package recordsql wraps a database/sql driver so that what the program's transactions do is recorded (package record)
// by itself: begin, commit and rollback with their times and outcomes, and what simple statements read and wrote.
//
//	rec := record.New(record.Options{})
//	log := recordsql.New(rec, recordsql.Table{Name: "accounts", Key: "id", Version: "version"})
//	db := sql.OpenDB(log.Connector(connector)) // or log.Open(driver, dsn)
//	… // the program as it is
//	h, err := rec.History()
//
// # What is understood
//
// On declared tables: SELECT of the key's row, of some keys' (IN), of a range of keys or of the whole table; INSERT
// with columns, also of several rows, ON CONFLICT and ON DUPLICATE KEY where they set the version to the new row's;
// UPDATE that sets the version, and DELETE, by key, or by any condition with RETURNING. Keys and versions may be
// arguments and literals. A SELECT must return the version, and the key where it is not fixed.
//
// Everything else is counted by reason (Log.Stats). A read that is not understood only weakens what a check can find. A
// write that is not understood is an error of the recording: others would be accused of reading what nobody wrote. Run
// such a statement with a context of Explicit, and record it yourself.
//
// A connection is a session of the history's. A statement outside of a transaction is one by itself. A row is key
// "table/key"; texts of integers count as integers, since drivers differ there. Rows of a declared table must get a new
// version with every write.
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
	return &Log{log: sqlstmt.Log{Rec: rec, Tables: tables}}
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
	return &conn{l: &c.l.log, in: in, s: c.l.log.Rec.Session()}, nil
}

// Close closes the inner connector, if it can be.
func (c *connector) Close() error {
	if x, ok := c.inner.(interface{ Close() error }); ok {
		return x.Close()
	}
	return nil
}
