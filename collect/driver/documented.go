package driver

import (
	"slices"
	"strings"

	"isovet/level"
)

// Documented says what a database's documentation promises of an anomaly.
type Documented uint8

const (
	// Unspoken: isovet knows of no sentence about it.
	Unspoken Documented = iota
	Allowed
	Forbidden
)

func (d Documented) String() string { return [...]string{"", "allowed", "forbidden"}[d] }

// Promise is what the documentation of a database says of one of its isolation levels, in the field's terms.
type Promise struct {
	database  string // how Info.Name begins
	isolation string
	// levels are promised; nil: none is, and all that Rules does not forbid is allowed.
	levels []level.Level
	// Source is the place in the documentation.
	Source string
}

// promises has the documentation's words as levels. Read committed is promised where dirty reads and dirty writes are
// excluded and a statement reads one snapshot, repeatable read of MySQL and MariaDB among them: what its plain reads
// have from one snapshot, its writes and locking reads have not.
var promises = []Promise{
	{"PostgreSQL", "read-uncommitted", []level.Level{level.ReadCommitted}, "PostgreSQL manual, 13.2, table 13.1: " +
		"read uncommitted behaves like read committed"},
	{"PostgreSQL", "read-committed", []level.Level{level.ReadCommitted}, "PostgreSQL manual, 13.2.1"},
	{"PostgreSQL", "repeatable-read", []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation},
		"PostgreSQL manual, 13.2.2: snapshot isolation"},
	{"PostgreSQL", "serializable", []level.Level{level.Serializable, level.SessionSnapshotIsolation},
		"PostgreSQL manual, 13.2.3: consistent with some serial order"},
	{"MariaDB", "read-uncommitted", nil, "MariaDB documentation, SET TRANSACTION: dirty reads are possible"},
	{"MariaDB", "read-committed", []level.Level{level.ReadCommitted}, "MariaDB documentation, SET TRANSACTION: each " +
		"read has a snapshot of its own"},
	{"MariaDB", "repeatable-read", []level.Level{level.ReadCommitted}, "MariaDB documentation, SET TRANSACTION: " +
		"plain reads are from the snapshot of the first one; writes and locking reads see what is newest"},
	{"MariaDB", "snapshot-isolation", []level.Level{level.SnapshotIsolation}, "MariaDB documentation, " +
		"innodb_snapshot_isolation"},
	{"MariaDB", "serializable", []level.Level{level.Serializable}, "MariaDB documentation, SET TRANSACTION"},
	{"MySQL", "read-uncommitted", nil, "MySQL manual, InnoDB transaction isolation levels: dirty reads"},
	{"MySQL", "read-committed", []level.Level{level.ReadCommitted}, "MySQL manual, InnoDB transaction isolation " +
		"levels"},
	{"MySQL", "repeatable-read", []level.Level{level.ReadCommitted}, "MySQL manual, InnoDB transaction isolation " +
		"levels: plain reads are from the snapshot of the first one; writes and locking reads see what is newest"},
	{"MySQL", "serializable", []level.Level{level.Serializable}, "MySQL manual, InnoDB transaction isolation levels"},
	{"SQLite", "serializable", []level.Level{level.StrictSerializable}, "SQLite, Isolation In SQLite: serializable"},
	{"SQLite", "immediate", []level.Level{level.StrictSerializable}, "SQLite, Isolation In SQLite: serializable"},
	{"Badger", "serializable", []level.Level{level.Serializable, level.SnapshotIsolation},
		"Badger's README: ACID transactions with serializable snapshot isolation guarantees"},
	{"Badger", "no-conflicts", nil, "Badger's Options.WithDetectConflicts: transactions can be processed at a higher " +
		"rate, and conflicts are not detected"},
}

// Promised returns what the documentation of a database says of an isolation, by its first name; the zero Promise where
// isovet knows of none. What a manual says of one server is no promise of a cluster's.
func Promised(in Info, isolation string) Promise {
	if len(in.Nodes) > 1 {
		return Promise{}
	}
	for _, p := range promises {
		if strings.HasPrefix(strings.ToLower(in.Name), strings.ToLower(p.database)) && p.isolation == isolation {
			return p
		}
	}
	return Promise{}
}

// Says is what the documentation promises of an anomaly that is forbidden from a level on, and by its kinds.
func (p *Promise) Says(from level.Level, kinds []level.Anomaly) Documented {
	switch {
	case p.Source == "":
		return Unspoken
	case slices.ContainsFunc(p.levels, func(l level.Level) bool {
		return l.Implies(from) || len(kinds) > 0 && l.Forbids(kinds[0])
	}):
		return Forbidden
	}
	return Allowed
}
