package collect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"isovet/collect/driver"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestNoPasswordInErrors opens databases that are not there.
func TestNoPasswordInErrors(t *testing.T) {
	for _, url := range []string{
		"postgres://me:s3cret@127.0.0.1:1/db", "postgres://127.0.0.1:1/db?user=me&password=s3cret",
		"mysql://me:s3cret@127.0.0.1:1/db",
		"redis://me:s3cret@127.0.0.1:1/0", "etcd://me:s3cret@127.0.0.1:1", "postgres://me:s3cret@127.0.0.1:port/db",
		"mysql://me:s3cret@%zz/db",
		"nothing://me:s3cret@host/", "redis://me:s3cret@127.0.0.1:1/notanumber", "postgres://me:s3cret%2Fx@[::1:5/db",
	} {
		db, err := driver.Open(context.Background(), []string{url}, driver.Options{})
		if err == nil {
			t.Errorf("%s: opened as %v", url, db.Info())
			continue
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

// TestIsolationNames: every driver knows the names of its own list, and refuses others with the list.
func TestIsolationNames(t *testing.T) {
	for _, s := range driver.All() {
		for _, entry := range s.Isolations {
			names := strings.Split(entry, "=")
			for _, n := range names {
				got, err := driver.IsolationName(s.URLs[0]+":", strings.ToUpper(strings.ReplaceAll(n, "-", " ")))
				if err != nil || got != names[0] {
					t.Errorf("%s: %q is %q, %v; expected %q", s.Name, n, got, err, names[0])
				}
			}
		}
		if _, err := driver.IsolationName(s.URLs[0]+":", "nonsense"); !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("%s: nonsense: %v", s.Name, err)
		}
	}
}

// TestPromises: every isolation that isovet knows a promise for is one that a driver offers, with its place in the
// documentation; what is promised of one server is not of a cluster, nor of a database that nobody has looked up.
func TestPromises(t *testing.T) {
	one, three := make([]driver.Node, 1), make([]driver.Node, 3)
	for _, scheme := range driver.All() {
		for _, p := range scheme.Promises {
			if !slices.ContainsFunc(scheme.Isolations, func(entry string) bool {
				name, _, _ := strings.Cut(entry, "=")
				return name == p.Isolation
			}) {
				t.Errorf("%s has no isolation %s", scheme.Name, p.Isolation)
			}
			in := driver.Info{Name: p.Database + " 1.2", Nodes: one}
			if got := driver.Promised(in, p.Isolation); got.Source != p.Source || p.Source == "" {
				t.Errorf("%s at %s: %q", p.Database, p.Isolation, got.Source)
			}
			in.Nodes = three
			must.Equal(t, driver.Promised(in, p.Isolation).Source, "", "a cluster of %s at %s", p.Database, p.Isolation)
		}
	}
	unknown := driver.Promised(driver.Info{Name: "Redis", Nodes: one}, "serializable")
	must.Equal(t, unknown.Says(level.Serializable, nil), driver.Unspoken, "what nobody has documented")
	pg := driver.Promised(driver.Info{Name: "PostgreSQL 15.18", Nodes: one}, "repeatable-read")
	if pg.Says(level.SnapshotIsolation, nil) != driver.Forbidden || pg.Says(level.Serializable, nil) != driver.Allowed {
		t.Error("PostgreSQL's repeatable read is snapshot isolation, and no more")
	}
	for _, name := range []string{"MariaDB 10.11.19", "MySQL 8.4.0"} {
		p := driver.Promised(driver.Info{Name: name, Nodes: one}, "repeatable-read")
		for kind, want := range map[level.Anomaly]driver.Documented{level.NonMonotonicRead: driver.Allowed,
			level.FracturedRead: driver.Allowed, level.NonMonotonicRead + "-session": driver.Allowed,
			level.NoOrder: driver.Allowed,
			level.G1a:     driver.Forbidden, level.G0: driver.Forbidden, level.ThinAirRead: driver.Forbidden} {
			must.Equal(t, p.Says(level.ReadCommitted, []level.Anomaly{kind}), want, "%s, %s", name, kind)
		}
	}
}
