// Package duckdb has the adapter of DuckDB, which is a library in C++: a module of its own, since it needs cgo and some
// hundred megabytes.
package duckdb

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/marcboeker/go-duckdb"

	"isovet/collect/driver"
	"isovet/level"
)

// Register adds DuckDB to the databases that isovet knows. Call it once, before anything is opened.
func Register() {
	driver.RegisterSQL(driver.SQL{
		Scheme:     "duckdb",
		About:      "DuckDB inside this program: duckdb: (in memory), duckdb:FILE",
		Isolations: []string{"snapshot=snapshot-isolation=si=session-snapshot-isolation=default"},
		Promises: []driver.Promise{{Database: "DuckDB", Isolation: "snapshot",
			Levels: []level.Level{level.SnapshotIsolation},
			Source: "DuckDB documentation, Transaction Management: snapshot isolation"}},
		Embedded: true,
		Open: func(url string) (*sql.DB, error) {
			_, file, _ := strings.Cut(url, ":")
			return sql.Open("duckdb", strings.TrimPrefix(file, "//"))
		},
		Name:     "DuckDB",
		Version:  "select version()",
		Text:     "varchar",
		Classify: classify,
		Breaks:   breaks,
	})
}

// breaks: a fatal error, and most internal ones, invalidate the database, which tells so with every statement since.
// Some errors come without their type.
func breaks(err error) bool {
	var e *duckdb.Error
	if errors.As(err, &e) && (e.Type == duckdb.ErrorTypeFatal || e.Type == duckdb.ErrorTypeInternal) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "FATAL Error") || strings.Contains(text, "INTERNAL Error") ||
		strings.Contains(text, invalidated)
}

// invalidated is what every statement is told since a fatal error.
const invalidated = "database has been invalidated"

// classify: a conflict is an error of the transaction's, or of a constraint that another transaction's row violates.
func classify(err error) driver.Class {
	var e *duckdb.Error
	if !errors.As(err, &e) || strings.Contains(e.Msg, invalidated) {
		return driver.Fatal
	}
	switch e.Type {
	case duckdb.ErrorTypeTransaction:
		return driver.Aborted
	case duckdb.ErrorTypeConstraint:
		if strings.Contains(e.Msg, "unique") || strings.Contains(e.Msg, "Duplicate key") {
			return driver.Aborted
		}
	}
	return driver.Fatal
}
