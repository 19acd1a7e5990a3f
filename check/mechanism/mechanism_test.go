package mechanism

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestNoFalseAlarm: correct runs of the store under their own profiles, with clock skew within what is allowed for.
func TestNoFalseAlarm(t *testing.T) {
	seeds := histtest.Long[uint64](1, 40)
	for _, iso := range datasets.Isolations() {
		randtest.Seeds(t, uint64(seeds), func(t testing.TB, seed uint64) {
			for _, w := range []string{"blindw", "smallbank", "ycsb", "list-append", "blindw-pred", "rmw"} {
				skew := int64(seed%2) * 50_000
				h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: w, Txns: histtest.Long(125, 250),
					Isolation: iso, Seed: seed, Keys: 40 * int(seed%2), AbortRate: .1,
					UnknownRate: .03, Skew: skew}))(t)
				p := must.Get(ProfileOf(h.Meta.DB, h.Meta.Isolation))(t)
				r := must.Get(Verify(t.Context(), h, Options{Profile: *p, Skew: skew}))(t)
				if r.Total() > 0 {
					t.Errorf("%s, %s, seed %d: false alarm: %s", iso, w, seed, Describe(h, r, skew)[0])
				}
				must.Be(t, r.Txns != 0 && r.Deduced(0) != 0, "%s, %s, seed %d: nothing was verified", iso, w, seed)
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
	files := must.Get(filepath.Glob("../../../shared/corpus/databases/*.zst"))(t)
	if len(files) == 0 {
		t.Skip("the corpus of real histories is not beside the repository")
	}
	for _, f := range files {
		h := must.Get(format.Read(t.Context(), f, format.Options{}))(t)
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
		must.Be(t, r.Verified != 0, "%s: nothing verified", f)
	}
}

func TestProfiles(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles() {
		must.OK(t, p.Validate(), "%s", p.Name())
		if seen[p.Name()] {
			t.Errorf("%s twice", p.Name())
		}
		seen[p.Name()] = true
		for _, db := range append([]string{p.Database}, p.Systems...) {
			got, err := LookupProfile(db + ":" + p.Isolation)
			must.Be(t, err == nil && got.Isolation == p.Isolation && got.Database == db,
				"%s:%s: %v, %v", db, p.Isolation, got, err)
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
		must.Be(t, found, "no profile of %s", db)
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
	h := must.Get(notation.Parse("init=0: s1: w(x,1) | s2: r(x,1)"))(t)
	var missing *MissingTimes
	if _, err := Verify(context.Background(), h, Options{}); !errors.As(err, &missing) {
		t.Errorf("error %v, expected that times are missing", err)
	}
}

// TestLevelOf looks at what headers name: levels as isovet spells them, and "repeatable read" as each database means
// it.
func TestLevelOf(t *testing.T) {
	for _, x := range []struct {
		db, isolation string
		want          level.Level
		named         bool
	}{
		{"", "", level.Serializable, false},
		{"", "as safe as can be", level.Serializable, false},
		{"PostgreSQL 16.3", "as safe as can be", level.Serializable, false},
		{"", "serializable", level.Serializable, true},
		{"", "Strict Serializable", level.StrictSerializable, true},
		{"", "strong_snapshot_isolation", level.StrictSnapshotIsolation, true},
		{"", "read committed", level.ReadCommitted, true},
		{"", "repeatable read", level.RepeatableRead, true},
		{"PostgreSQL 16.3", "repeatable read", level.SnapshotIsolation, true},
		{"PostgreSQL 16.3", "serializable", level.Serializable, true},
		{"MySQL 8.0.36", "repeatable read", level.ReadCommitted, true},
		{"Microsoft SQL Server 2022", "snapshot", level.SnapshotIsolation, true},
		{"Oracle 19c", "serializable", level.Serializable, true},
	} {
		got, why := LevelOf(x.db, x.isolation)
		must.Be(t, got == x.want && (why != "") == x.named,
			"LevelOf(%q, %q) = %v, %q; want %v, named %v", x.db, x.isolation, got, why, x.want, x.named)
	}
}

// TestNumbers: what is found does not depend on how many transactions there have been before, also where their number
// comes to need more than 32 bits.
func TestNumbers(t *testing.T) {
	found := 0
	randtest.Values(t, seeds()/4, func(seed uint64) *drawn {
		return draw(seed, 4, 200, 4)
	}, func(t testing.TB, seed uint64, r *drawn) {
		p := Profile{Reads: TransactionReads, Snapshot: AtFirstStatement, WriteLocks: true, ReadLocks: true,
			FirstUpdaterWins: true, Certifier: SSICertifier}
		o := Options{Profile: p, MaxViolations: 1 << 20, KeepEdges: true, every: 1 + int(seed%9)}
		want := r.run(o)
		for _, o.from = range []uint64{math.MaxUint32 - seed%200, math.MaxUint32 + 1, 1 << 40} {
			if got := r.run(o); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, from transaction %d on:\n%+v\nexpected\n%+v", seed, o.from, got, want)
			}
		}
		found += want.Total()
	})
	randtest.Mix(t, found < 200, "%d violations are too few to compare", found)
	t.Logf("%d violations", found)
}

// TestStatementsApart: of statements with a snapshot each, what one has read does not narrow the next one's moment,
// also where the first row of that was written by several, so that nothing follows from it.
func TestStatementsApart(t *testing.T) {
	const x, y, z = 0, 1, 2
	v := NewVerifier(5, Options{Profile: Profile{Reads: StatementReads}, Duplicates: true})
	n := uint64(0)
	txn := func(client int, start, c, d int64, ops ...Trace) {
		n++
		all := append([]Trace{{Kind: Begin, Bef: start, Aft: start, Val: n}}, ops...)
		v.Dispatch(client, append(all, Trace{Kind: Commit, Bef: c, Aft: d, Val: n}))
	}
	write := func(key uint32, val uint64, at int64) Trace {
		return Trace{Kind: Write, Key: key, Val: val, Bef: at, Aft: at + 1}
	}
	txn(0, 1, 10, 11, write(x, 1, 2))
	txn(1, 1, 12, 13, write(y, 5, 2))
	txn(2, 1, 12, 14, write(y, 5, 2))
	txn(3, 18, 20, 21, write(x, 2, 19))
	txn(3, 28, 30, 31, write(z, 7, 29))
	txn(4, 14, 50, 51, Trace{Kind: Read, Key: x, Val: 1, Bef: 15, Aft: 16}, Trace{Kind: Read, Key: y, Val: 5, Bef: 40,
		Aft: 41, Op: 1}, Trace{Kind: Read, Key: z, Val: 7, Bef: 40, Aft: 41, Op: 1})
	if r := v.Close(); r.Total() > 0 || r.Verified != 6 {
		t.Errorf("%d verified, violations %+v; expected none", r.Verified, r.Violations)
	}
}

// endless makes the traces of many clients one transaction after the other, as a serial database would answer them
// late: commits overlap with what other clients do next. Half of the 8 operations are reads.
type endless struct {
	rng     *rand.Rand
	clients int
	keys    []uint64 // what each holds
	n       int64
	ops     []Trace
}

func (g *endless) next() (client int, traces []Trace) {
	const step = 1000
	p := g.n * step
	client = int(g.n % int64(g.clients))
	id := uint64(g.n)
	g.n++
	g.ops = append(g.ops[:0], Trace{Kind: Begin, Bef: p - 20, Aft: p - 20, Val: id})
	for k := range int64(8) {
		key := uint32(g.rng.IntN(len(g.keys)))
		at := p + 10*k
		t := Trace{Bef: at - g.rng.Int64N(5), Aft: at + g.rng.Int64N(5), Key: key, Op: uint32(k), Val: g.keys[key]}
		if k%2 == 1 {
			t.Kind, t.Val = Write, id*8+uint64(k)+1
			g.keys[key] = t.Val
		} else {
			t.Kind = Read
		}
		g.ops = append(g.ops, t)
	}
	most := step*int64(g.clients) - 200
	g.ops = append(g.ops, Trace{Kind: Commit, Bef: p + 90, Aft: p + 100 + g.rng.Int64N(most), Val: id})
	return client, g.ops
}

// TestOnlineMemoryIsBounded streams transactions through the pipeline into the verifier. ISOVET_LONG=1: ten million,
// within 300 MB.
func TestOnlineMemoryIsBounded(t *testing.T) {
	txns := histtest.Long[int64](50_000, 10_000_000)
	const clients = 24
	p := NewPipeline(clients, PipelineOptions{})
	feed := make(chan struct{})
	go func() {
		defer close(feed)
		g := &endless{rng: rand.New(rand.NewPCG(1, 1)), clients: clients, keys: make([]uint64, 10_000)}
		for g.n < txns {
			i, traces := g.next()
			for _, tr := range traces {
				if !p.Client(i).Push(tr) {
					return
				}
			}
		}
		for i := range clients {
			p.Client(i).Close()
		}
	}()
	prof := Profile{Database: "test", Isolation: "serial", Reads: StatementReads, WriteLocks: true,
		Certifier: CycleCheck}
	v := NewVerifier(clients, Options{Profile: prof})
	must.OK(t, p.Run(context.Background(), v.Dispatch))
	<-feed
	r := v.Close()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	must.Hold(t, r.Total() == 0 && int64(r.Verified) == txns && r.Traces == int(txns)*10,
		"%s, %d traces; expected no violation in %d transactions", r, r.Traces, txns)
	if r.PeakTxns > 4*pruneEvery || r.PeakVersions > 100_000 || m.Sys > 300<<20 {
		t.Errorf("up to %d transactions, %d versions, %d locks were remembered; %d MB", r.PeakTxns, r.PeakVersions,
			r.PeakLocks, m.Sys>>20)
	}
	t.Logf("%d transactions: up to %d transactions, %d versions remembered; %d MB; %d undecided", txns, r.PeakTxns,
		r.PeakVersions, m.Sys>>20, r.Undecided)
}
