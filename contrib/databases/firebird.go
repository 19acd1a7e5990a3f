package databases

import (
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/nakagami/firebirdsql"

	"isovet/collect/driver"
	"isovet/level"
)

// firebird has texts of at most 32 kB, so that lists end there, and one row an insert.
var firebird = driver.SQL{
	Scheme: "firebird",
	About:  "Firebird 3 and later: firebird://user:password@host:3050/FILE",
	Isolations: []string{
		"snapshot=snapshot-isolation=si=session-snapshot-isolation=repeatable-read=rr",
		"serializable=ser=session-serializable=table-stability", // locks whole tables
		"read-committed=rc",
	},
	Levels: map[string]sql.IsolationLevel{"snapshot": sql.LevelRepeatableRead,
		"serializable": sql.LevelSerializable, "read-committed": sql.LevelReadCommitted},
	Promises: []driver.Promise{
		{Database: "Firebird", Isolation: "snapshot", Levels: []level.Level{level.SnapshotIsolation},
			Source: "Firebird Language Reference, SET TRANSACTION, SNAPSHOT"},
		{Database: "Firebird", Isolation: "serializable", Levels: []level.Level{level.Serializable},
			Source: "Firebird Language Reference, SET TRANSACTION, SNAPSHOT TABLE STABILITY"},
		{Database: "Firebird", Isolation: "read-committed", Levels: []level.Level{level.ReadCommitted},
			Source: "Firebird Language Reference, SET TRANSACTION, READ COMMITTED"},
	},
	Open: func(url string) (*sql.DB, error) {
		return sql.Open("firebirdsql", strings.TrimPrefix(strings.TrimPrefix(url, "firebird:"), "//"))
	},
	Name:     "Firebird",
	Version:  "select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database",
	Text:     "varchar(30000) character set ascii",
	Lock:     " with lock",
	Dual:     " from rdb$database",
	Batch:    1,
	Classify: firebirdClass,
}

// firebirdAborts are deadlock, update conflict, lock conflict without waiting, lock time-out, unique key.
var firebirdAborts = []int{335544336, 335544451, 335544345, 335544510, 335544665, 335544349}

// firebirdLost are a broken connection, a shutdown, and who was killed.
var firebirdLost = []int{335544721, 335544726, 335544727, 335544741, 335544528, 335544856}

func firebirdClass(err error) driver.Class {
	var e *firebirdsql.FbError
	if !errors.As(err, &e) {
		return driver.Fatal
	}
	has := func(codes []int) bool {
		return slices.ContainsFunc(e.GDSCodes, func(c int) bool { return slices.Contains(codes, c) })
	}
	switch {
	case has(firebirdLost):
		return driver.Lost
	case has(firebirdAborts):
		return driver.Aborted
	}
	return driver.Fatal
}
