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

// Promise is what the documentation of a database says of one of its isolation levels, in the field's terms. Read
// committed is promised where dirty reads and dirty writes are excluded and a statement reads one snapshot, repeatable
// read of MySQL and MariaDB among them: what its plain reads have from one snapshot, its writes and locking reads have
// not.
type Promise struct {
	Database  string // how Info.Name begins
	Isolation string
	// Levels are promised; nil: none is, and all is allowed.
	Levels []level.Level
	// Source is the place in the documentation.
	Source string
	// But are anomalies that it allows nevertheless, which those levels forbid, through session order or without.
	But []level.Anomaly
}

// NewPromise makes one; see the fields of Promise.
func NewPromise(database, isolation string, levels []level.Level, source string, but []level.Anomaly) Promise {
	return Promise{database, isolation, levels, source, but}
}

// MixedReads are of snapshots beside newest rows: where a transaction's plain reads are from one snapshot and its own
// writes and locking reads go to what is newest, a read behind such a write has both. Where the order of versions is
// not known, each of its possible orders may show one of them.
var MixedReads = []level.Anomaly{level.NonMonotonicRead, level.FracturedRead, level.NoOrder}

// LostUpdates are what shows where of two transactions that write a row neither is refused.
var LostUpdates = []level.Anomaly{level.LostUpdate, level.Divergence, level.IncompatibleOrder, level.NoOrder}

// Promised returns what the documentation of a database says of an isolation, by its first name; the zero Promise where
// isovet knows of none. What a manual says of one server is no promise of a cluster's.
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

// Excepts reports whether an anomaly is one of But, through session order or without.
func (p *Promise) Excepts(kind level.Anomaly) bool {
	return slices.Contains(p.But, level.Anomaly(strings.TrimSuffix(string(kind), "-session")))
}

// Says is what the documentation promises of an anomaly that is forbidden from a level on, and by its kinds.
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
