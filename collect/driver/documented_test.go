package driver

import (
	"slices"
	"strings"
	"testing"

	"isovet/level"
)

// TestPromises: every isolation that isovet knows a promise for is one that a driver offers, with its place in the
// documentation; what is promised of one server is not of a cluster, nor of a database that nobody has looked up.
func TestPromises(t *testing.T) {
	one, three := make([]Node, 1), make([]Node, 3)
	for _, scheme := range All() {
		for _, p := range scheme.Promises {
			if !slices.ContainsFunc(scheme.Isolations, func(entry string) bool {
				name, _, _ := strings.Cut(entry, "=")
				return name == p.Isolation
			}) {
				t.Errorf("%s has no isolation %s", scheme.Name, p.Isolation)
			}
			if got := Promised(Info{Name: p.Database + " 1.2", Nodes: one}, p.Isolation); got.Source != p.Source ||
				p.Source == "" {
				t.Errorf("%s at %s: %q", p.Database, p.Isolation, got.Source)
			}
			if got := Promised(Info{Name: p.Database + " 1.2", Nodes: three}, p.Isolation); got.Source != "" {
				t.Errorf("a cluster of %s at %s: %q", p.Database, p.Isolation, got.Source)
			}
		}
	}
	unknown := Promised(Info{Name: "Redis", Nodes: one}, "serializable")
	if unknown.Says(level.Serializable, nil) != Unspoken {
		t.Error("something is known of what nobody has documented")
	}
	pg := Promised(Info{Name: "PostgreSQL 15.18", Nodes: one}, "repeatable-read")
	if pg.Says(level.SnapshotIsolation, nil) != Forbidden || pg.Says(level.Serializable, nil) != Allowed {
		t.Error("PostgreSQL's repeatable read is snapshot isolation, and no more")
	}
	for _, name := range []string{"MariaDB 10.11.19", "MySQL 8.4.0"} {
		p := Promised(Info{Name: name, Nodes: one}, "repeatable-read")
		for kind, want := range map[level.Anomaly]Documented{level.NonMonotonicRead: Allowed,
			level.FracturedRead: Allowed, level.NonMonotonicRead + "-session": Allowed, level.NoOrder: Allowed,
			level.G1a: Forbidden, level.G0: Forbidden, level.ThinAirRead: Forbidden} {
			if got := p.Says(level.ReadCommitted, []level.Anomaly{kind}); got != want {
				t.Errorf("%s, %s at read committed: %v, expected %v", name, kind, got, want)
			}
		}
	}
}
