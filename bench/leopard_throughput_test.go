package bench

import (
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/collect"
)

// TestFollower: what is verified while the database runs is what its history says, for rows, lists and predicates; and
// a database that breaks its promise is found out.
func TestFollower(t *testing.T) {
	for _, x := range []struct {
		db, isolation, workload string
		violated                bool
	}{
		{"sqlite:", "immediate", "smallbank", false},
		{"sqlite:", "immediate", "list-append", false},
		{"sqlite:", "immediate", "booking", false},
		{"badger:", "", "rmw", false},
		{"badger:", "no-conflicts", "rmw", true},
	} {
		p, err := mechanism.LookupProfile(map[string]string{"sqlite:": "sqlite:immediate",
			"badger:": "badger:serializable-snapshot"}[x.db])
		if err != nil {
			t.Fatal(err)
		}
		f := newFollower(p)
		name, variant, _ := strings.Cut(x.workload, "/")
		r, err := collect.Run(t.Context(), collect.Config{DB: []string{x.db}, Isolation: x.isolation,
			Workload: name, Variant: variant, Keys: 50, Txns: 600, Sessions: 6, Seed: 3, Live: f})
		if err != nil {
			t.Fatal(err)
		}
		online := f.online.Close()
		offline, err := mechanism.Verify(t.Context(), r.History, mechanism.Options{Profile: *p, Duplicates: true})
		if err != nil {
			t.Fatal(err)
		}
		if online.Traces != offline.Traces || online.Txns != offline.Txns || online.Verified != offline.Verified ||
			online.Total() != offline.Total() {
			t.Errorf("%s %s: online %s, offline %s", x.db, x.workload, online, offline)
		}
		if online.Total() > 0 != x.violated {
			t.Errorf("%s %s: %d violations: %s", x.db, x.workload, online.Total(), online)
		}
	}
}
