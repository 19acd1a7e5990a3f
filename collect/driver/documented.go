package driver

import (
	"slices"
	"strings"

	"isovet/level"
)

// Documented says what a database's documentation promises about an anomaly.
type Documented uint8

const (
	// Unspoken says that isovet knows of no sentence about it.
	Unspoken Documented = iota
	Allowed
	Forbidden
)

func (d Documented) String() string { return [...]string{"", "allowed", "forbidden"}[d] }

// Promise is the statement of a database's documentation about one of its isolation levels, in the field's terms. Read
// committed is promised if dirty reads and dirty writes are excluded and a statement reads one snapshot. That includes
// repeatable read of MySQL and MariaDB: only its plain reads share a snapshot, its writes and locking reads do not.
type Promise struct {
	Database  string // the beginning of Info.Name
	Isolation string
	// Levels are the promised levels; nil: none is, and everything is allowed.
	Levels []level.Level
	// Source is the place in the documentation.
	Source string
	// But lists anomalies that those levels forbid and the documentation allows, with or without session order.
	But []level.Anomaly
}

// NewPromise makes a Promise; see its fields.
func NewPromise(database, isolation string, levels []level.Level, source string, but []level.Anomaly) Promise {
	return Promise{database, isolation, levels, source, but}
}

// MixedReads are the anomalies of a mix of snapshot and newest rows. If plain reads come from a snapshot but writes and
// locking reads use the newest rows, a read after such a write may see both. If the order of versions is unknown, each
// possible order may show one of these anomalies.
var MixedReads = []level.Anomaly{level.NonMonotonicRead, level.FracturedRead, level.NoOrder}

// LostUpdates are the anomalies that show if neither of two transactions that write a row is refused.
var LostUpdates = []level.Anomaly{level.LostUpdate, level.Divergence, level.IncompatibleOrder, level.NoOrder}

// Promised returns the promise of a database's documentation about an isolation, by its first name; the zero Promise if
// isovet knows of none. A manual's statement about one server is no promise about a cluster.
func Promised(in Info, isolation string) Promise {
	if len(in.Nodes) > 1 {
		return Promise{}
	}
	for _, s := range All() {
		for _, p := range s.Promises {
			if strings.HasPrefix(strings.ToLower(in.Name), strings.ToLower(p.Database)) && p.Isolation == isolation {
				return p
			}
		}
	}
	return Promise{}
}

// Excepts reports whether an anomaly is in But, with or without session order.
func (p *Promise) Excepts(kind level.Anomaly) bool {
	return slices.Contains(p.But, level.Anomaly(strings.TrimSuffix(string(kind), "-session")))
}

// Says returns what the documentation promises about an anomaly. from is the weakest level that forbids it, kinds are
// its kinds.
func (p *Promise) Says(from level.Level, kinds []level.Anomaly) Documented {
	switch {
	case p.Source == "":
		return Unspoken
	case len(kinds) > 0 && p.Excepts(kinds[0]):
		return Allowed
	case slices.ContainsFunc(p.Levels, func(l level.Level) bool {
		return l.Implies(from) || len(kinds) > 0 && l.Forbids(kinds[0])
	}):
		return Forbidden
	}
	return Allowed
}
