package mechanism

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/randtest"
)

// TestNoFalseAlarm: correct runs of the store under their own profiles, with clock skew within what is allowed for.
func TestNoFalseAlarm(t *testing.T) {
	seeds := histtest.Long[uint64](1, 40)
	for _, iso := range datasets.Isolations() {
		randtest.Seeds(t, uint64(seeds), func(t testing.TB, seed uint64) {
			for _, w := range []string{"blindw", "smallbank", "ycsb", "list-append", "blindw-pred", "rmw"} {
				skew := int64(seed%2) * 50_000
				h, err := datasets.Generate(context.Background(), datasets.Spec{Workload: w, Txns: 250, Isolation: iso,
					Seed: seed, Keys: 40 * int(seed%2), AbortRate: .1, UnknownRate: .03, Skew: skew})
				if err != nil {
					t.Fatal(err)
				}
				p, err := ProfileOf(h.Meta.DB, h.Meta.Isolation)
				if err != nil {
					t.Fatal(err)
				}
				r, err := Verify(context.Background(), h, Options{Profile: *p, Skew: skew})
				if err != nil {
					t.Fatal(err)
				}
				if r.Total() > 0 {
					t.Errorf("%s, %s, seed %d: false alarm: %s", iso, w, seed, Describe(h, r, skew)[0])
				}
				if r.Txns == 0 || r.Deduced(0) == 0 {
					t.Errorf("%s, %s, seed %d: nothing was verified", iso, w, seed)
				}
			}
		})
	}
}

// corpusProfile is the profile of a collected history: the header's, but where the header does not tell how the server
// was set up.
func corpusProfile(file, db, isolation string) (*Profile, error) {
	name := filepath.Base(file)
	switch {
	case strings.HasPrefix(name, "galera") && strings.Contains(name, "-ser-"):
		return LookupProfile("galera:serializable")
	case strings.HasPrefix(name, "galera") && strings.Contains(name, "-si1-"):
		return LookupProfile("galera:repeatable-read-snapshot")
	case strings.HasPrefix(name, "galera"):
		return LookupProfile("galera:repeatable-read")
	case strings.Contains(name, "-rrsi-"):
		return LookupProfile("mariadb:repeatable-read-snapshot")
	}
	return ProfileOf(db, isolation)
}

// TestNoFalseAlarmOnDatabases: histories of real databases. The one of a primary and its standby is no correct run:
// snapshots of the two contradict each other, and the standby lags.
func TestNoFalseAlarmOnDatabases(t *testing.T) {
	histtest.OnlyLong(t)
	files, err := filepath.Glob("../../../shared/corpus/databases/*.zst")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the corpus of real histories is not beside the repository")
	}
	for _, f := range files {
		h, err := format.Read(context.Background(), f, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := corpusProfile(f, h.Meta.DB, h.Meta.Isolation)
		if err != nil {
			t.Error(err)
			continue
		}
		r, err := Verify(context.Background(), h, Options{Profile: *p})
		if err != nil {
			t.Error(f, err)
			continue
		}
		if wrong := strings.Contains(f, "standby"); (r.Total() > 0) != wrong {
			t.Errorf("%s under %s: %d violations", filepath.Base(f), p.Name(), r.Total())
		}
		if r.Verified == 0 {
			t.Errorf("%s: nothing verified", f)
		}
	}
}

func TestProfiles(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles() {
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name(), err)
		}
		if seen[p.Name()] {
			t.Errorf("%s twice", p.Name())
		}
		seen[p.Name()] = true
		for _, db := range append([]string{p.Database}, p.Systems...) {
			got, err := LookupProfile(db + ":" + p.Isolation)
			if err != nil || got.Isolation != p.Isolation || got.Database != db {
				t.Errorf("%s:%s: %v, %v", db, p.Isolation, got, err)
			}
		}
	}
	// Leopard's Table I.
	for _, db := range []string{"postgresql", "opengauss", "yugabytedb", "innodb", "sqlserver", "aurora", "polardb",
		"tidb", "rocksdb", "sqlite", "foundationdb", "singlestore", "cockroachdb", "spanner", "oracle", "saphana",
		"oceanbase", "nuodb"} {
		found := false
		for _, p := range Profiles() {
			_, err := LookupProfile(db + ":" + p.Isolation)
			found = found || err == nil
		}
		if !found {
			t.Errorf("no profile of %s", db)
		}
	}
	for in, want := range map[string]string{
		`{"database":"x","isolation":"y","reads":"statement","write_locks":true}`: "",
		`{"database":"x"`: "line 1",
		`{"database":"x","isolation":"y","reads":"statement","locks":true}`:              "unknown field",
		`{"database":"x","isolation":"y","reads":"all"}`:                                 `field "reads"`,
		`{"database":"x","isolation":"y","reads":"transaction"}`:                         `field "snapshot"`,
		`{"database":"x","isolation":"y","reads":"statement","first_updater_wins":true}`: "first_updater_wins",
		`{"database":"x","isolation":"y","reads":"statement","certifier":"magic"}`:       "certifier",
		``:      "empty",
		` null`: "database",
		`[]`:    "a JSON array; expected a profile",
		`"x"`:   "a JSON string; expected a profile",
		`{"database":"x","isolation":"y","reads":"statement","write_locks":"yes"}`:                            `line 1: field "write_locks": a JSON string; expected true or false`,
		"{\"database\":\"x\",\n\"isolation\":\"y\",\n\"reads\":5}":                                            `line 3: field "reads": a JSON number; expected a string`,
		`{"database":"x","isolation":"y","reads":"statement","systems":"q"}`:                                  `field "systems": a JSON string; expected a list of strings`,
		`{"database":"x","isolation":"y","reads":"statement","systems":[1]}`:                                  `field "systems"`,
		`{"database":"x","isolation":"y","systems":["database","isolation"],"reads":"statement"}`:             "",
		`{"database":"x","isolation":"y","reads":"statement","level":"causal"}`:                               `field "level"`,
		`{"database":"x","isolation":"y","reads":"statement","level":"nonsense"}`:                             "unknown isolation level",
		`{"database":"x","isolation":"y","reads":"none","reads":"statement"}`:                                 `field "reads" comes twice`,
		`{"database":"x","isolation":"y","Reads":"statement"}`:                                                `unknown field "Reads"`,
		`{"isolation":"y","reads":"statement"}`:                                                               "database",
		`{"database":"x","isolation":"y","reads":"statement"} {}`:                                             "more than one",
		`{"database":"x","isolation":"y","reads":"none","stale_reads":true}`:                                  "stale_reads",
		`{"database":"x","isolation":"y","reads":"statement","snapshot":"begin"}`:                             "leave it out",
		`{"database":"x","reads":"statement"}`:                                                                "isolation",
		`{"database":"x","isolation":"y","reads":"transaction","snapshot":"begin","first_updater_wins":true}`: "",
	} {
		_, err := ReadProfile(strings.NewReader(in))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, expected %q", in, err, want)
		}
	}
	for _, bad := range []string{"postgresql", "postgresql:chaos", "nosuch:serializable"} {
		if _, err := LookupProfile(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	if _, err := ProfileOf("", "serializable"); err == nil {
		t.Error("a header without db names a profile")
	}
}

func TestMissingTimes(t *testing.T) {
	h, err := notation.Parse("init=0: s1: w(x,1) | s2: r(x,1)")
	if err != nil {
		t.Fatal(err)
	}
	var missing *MissingTimes
	if _, err := Verify(context.Background(), h, Options{}); !errors.As(err, &missing) {
		t.Errorf("error %v, expected that times are missing", err)
	}
}
