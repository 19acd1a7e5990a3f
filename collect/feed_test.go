package collect_test

import (
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/collect"
	"isovet/internal/safego"
)

// TestFeed: what is verified while the database runs is what its history says, for rows, lists and predicates; and a
// database that breaks its promise is found out.
func TestFeed(t *testing.T) {
	for _, x := range []struct {
		db, isolation, workload string
		violated                bool
	}{
		{"sqlite:", "immediate", "smallbank", false},
		{"sqlite:", "immediate", "list-append", false},
		{"sqlite:", "immediate", "booking", false},
		{"sqlite:", "immediate", "rmw/autocommit", false},
		{"sqlite:", "immediate", "rows/autocommit", false},
		{"badger:", "", "rmw", false},
		{"badger:", "no-conflicts", "rmw", true},
	} {
		t.Run(x.db+x.isolation+"/"+x.workload, func(t *testing.T) {
			p, err := mechanism.LookupProfile(map[string]string{"sqlite:": "sqlite:immediate",
				"badger:": "badger:serializable-snapshot"}[x.db])
			if err != nil {
				t.Fatal(err)
			}
			const sessions = 6
			f := collect.NewFeed(sessions)
			v := mechanism.NewVerifier(sessions, mechanism.Options{Profile: *p, Initial: f.Initial, Duplicates: true})
			var verifier safego.Group
			verifier.Go(func() {
				if err := f.Pipeline().Run(t.Context(), v.Dispatch); err != nil {
					t.Error(err)
				}
			})
			name, variant, _ := strings.Cut(x.workload, "/")
			r, err := collect.Run(t.Context(), collect.Config{DB: []string{x.db}, Isolation: x.isolation,
				Workload: name, Variant: variant, Keys: 50, Txns: 600, Sessions: sessions, Seed: 3, Feed: f})
			if err != nil {
				t.Fatal(err)
			}
			verifier.Wait()
			online := v.Close()
			offline, err := mechanism.Verify(t.Context(), r.History, mechanism.Options{Profile: *p, Duplicates: true})
			if err != nil {
				t.Fatal(err)
			}
			if online.Traces != offline.Traces || online.Txns != offline.Txns || online.Verified != offline.Verified ||
				online.Total() != offline.Total() || online.Undecided != offline.Undecided {
				t.Errorf("online: %d traces, %d transactions, %d verified, %d violations, %d undecided; offline: "+
					"%d, %d, %d, %d, %d",
					online.Traces, online.Txns, online.Verified, online.Total(), online.Undecided, offline.Traces,
					offline.Txns, offline.Verified, offline.Total(), offline.Undecided)
			}
			if online.Total() > 0 != x.violated || f.Ended().IsZero() {
				t.Errorf("%d violations: %s", online.Total(), online)
			}
		})
	}
	if _, err := collect.Run(t.Context(), collect.Config{DB: []string{"sqlite:"}, Sessions: 3,
		Feed: collect.NewFeed(2)}); err == nil {
		t.Error("a feed for 2 sessions is taken for 3")
	}
}
