package driver

import (
	_ "embed"
	"slices"
	"strings"

	"isovet/level"
)

// Documented says what a database's documentation promises about an anomaly.
type Documented uint8

const (
	// Unspoken says that isovet knows no statement about it.
	Unspoken Documented = iota
	Allowed
	Forbidden
)

func (d Documented) String() string { return [...]string{"", "allowed", "forbidden"}[d] }

// Promise is a statement of a database's documentation about one of its isolation levels, in Adya's terms. Read
// committed is promised if the documentation excludes dirty reads and dirty writes and says that a statement reads one
// snapshot. This includes repeatable read of MySQL and MariaDB: their plain reads share a snapshot, their writes and
// locking reads do not.
type Promise struct {
	Database  string // the beginning of Info.Name
	Isolation string
	// Levels are the promised levels. If it is nil, everything is allowed.
	Levels []level.Level
	// Source is the place in the documentation.
	Source string
	// But lists anomalies that these levels forbid but the documentation allows, with or without session order.
	But []level.Anomaly
}

// MixedReads are the anomalies that show if plain reads come from a snapshot while writes and locking reads use the
// newest rows: a read after such a write may see both. If the order of versions is unknown, each possible order may
// show another one.
var MixedReads = []level.Anomaly{level.NonMonotonicRead, level.FracturedRead, level.NoOrder}

// LostUpdates are the anomalies that show if two concurrent transactions may both write a row and commit, as H2's
// documentation does not exclude.
var LostUpdates = []level.Anomaly{level.LostUpdate, level.Divergence, level.IncompatibleOrder, level.NoOrder}

// promises.tsv has what the documentation of isovet's own databases promises: the driver, the fields of a Promise with
// the levels separated by blanks, "mixed reads" for MixedReads and "lost updates" for LostUpdates.
//
//go:embed promises.tsv
var promisesTSV string

// promisesOf returns a driver's promises. It panics on a wrong row, since the table is part of the program.
func promisesOf(driver string) (all []Promise) {
	but := map[string][]level.Anomaly{"mixed reads": MixedReads, "lost updates": LostUpdates}
	for row := range strings.Lines(promisesTSV) {
		c := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		if c[0] != driver {
			continue
		}
		p := Promise{Database: c[1], Isolation: c[2], But: but[c[4]], Source: c[5]}
		for name := range strings.FieldsSeq(c[3]) {
			l, err := level.Parse(name)
			if err != nil {
				panic("promises.tsv: " + err.Error())
			}
			p.Levels = append(p.Levels, l)
		}
		all = append(all, p)
	}
	return all
}

// Promised returns what a database's documentation promises about an isolation level, named by its first name, or the
// zero Promise if isovet knows nothing. A manual's statement about one server is no promise about a cluster.
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

// Excepts reports whether But has the anomaly, with or without session order.
func (p *Promise) Excepts(kind level.Anomaly) bool {
	return slices.Contains(p.But, level.Anomaly(strings.TrimSuffix(string(kind), "-session")))
}

// Excuses reports whether But has all of the anomalies. At least one is needed.
func (p *Promise) Excuses(kinds []level.Anomaly) bool {
	return len(kinds) > 0 && !slices.ContainsFunc(kinds, func(k level.Anomaly) bool { return !p.Excepts(k) })
}

// Says returns what the documentation promises about an anomaly. from is the weakest level that forbids it, kinds are
// its names.
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
