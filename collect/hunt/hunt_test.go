package hunt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestHuntAhead: a violation ends a round that would last for hours; the hunt goes on where it is asked to, and groups
// what it finds.
func TestHuntAhead(t *testing.T) {
	c := Config{Config: collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "smallbank",
		Keys: 10, Txns: 1 << 40, Think: time.Millisecond}, Level: level.SnapshotIsolation, For: 5 * time.Minute}
	h, err := Run(t.Context(), c)
	if err != nil || !h.Violated || len(h.Rounds) != 1 || !h.Rounds[0].Early || len(h.Found) == 0 {
		t.Fatalf("%v, %+v; expected a violation while the first round lasts", err, h)
	}
	if g := h.Found[0]; g.Kind == "" || len(g.Txns) == 0 || g.Rounds != 1 || g.Anomalies == 0 || g.Text == "" ||
		g.First.Number != 1 || g.After() > h.Elapsed || h.Inconclusive() != "" {
		t.Errorf("%+v", g)
	}
	c.GoOn, c.Txns, c.For = true, 200, 10*time.Minute
	kept := 0
	c.Keep = func(_ context.Context, f *collect.Found, fresh []*Group) error {
		kept += len(fresh)
		if f.Answer.Verdict != evidence.Violated || len(fresh) == 0 {
			t.Errorf("%v with %d groups", f.Answer.Verdict, len(fresh))
		}
		return nil
	}
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	wrong := 0
	c.Told = func(r Round) {
		if r.Verdict == evidence.Violated {
			if wrong++; wrong == 8 {
				enough()
			}
		}
	}
	h, err = Run(ctx, c)
	if err != nil || !h.Violated || kept != len(h.Found) || kept == 0 {
		t.Fatalf("%v, %d groups kept: %+v", err, kept, h)
	}
	names, violated, most := map[string]bool{}, 0, 0
	for _, g := range h.Found {
		if names[string(g.Kind)] {
			t.Errorf("%s twice", g.Kind)
		}
		names[string(g.Kind)], most = true, max(most, g.Rounds)
	}
	for _, r := range h.Rounds {
		if r.Verdict == evidence.Violated {
			violated++
		}
	}
	if most > violated || violated == 0 {
		t.Errorf("a group in %d rounds, of %d that were violated", most, violated)
	}
}

// stubborn is a store that refuses whoever has read.
type stubborn struct{}

type stubbornTxn struct{ read bool }

func (stubborn) Begin() (driver.KVTxn, error) { return &stubbornTxn{}, nil }
func (stubborn) Close() error                 { return nil }

func (t *stubbornTxn) Get([]byte) ([]byte, bool, error) {
	t.read = true
	return []byte("0 0"), true, nil
}
func (*stubbornTxn) Put(_, _ []byte) error { return nil }
func (*stubbornTxn) Rollback() error       { return nil }

func (t *stubbornTxn) Commit() error {
	if t.read {
		return driver.ErrConflict
	}
	return nil
}

// TestInconclusive: where hardly anything was committed, that nothing was found means nothing.
func TestInconclusive(t *testing.T) {
	driver.RegisterStore(driver.Store{Scheme: "stubborn", Isolations: []string{"none"},
		Open: func(string, string) (driver.KV, error) { return stubborn{}, nil }})
	c := Config{Config: collect.Config{DB: []string{"stubborn:"}, Workload: "rmw", Txns: 120, Sessions: 8},
		Level: level.ReadCommitted, For: 500 * time.Millisecond}
	h, err := Run(t.Context(), c)
	for err == nil && h.Refused == 0 && c.For < time.Minute { // a busy machine
		c.For *= 4
		h, err = Run(t.Context(), c)
	}
	must.OK(t, err)
	want := "0 transactions were committed, fewer than 100; the most frequent reason, "
	if got := h.Inconclusive(); h.Violated || h.Refused == 0 || !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, " times: aborted: the store refused the transaction") {
		t.Errorf("%q; expected %q; %d of %d refused", got, want, h.Refused, h.Attempts)
	}
	for _, x := range []struct {
		Hunted
		want string
	}{
		{Hunted{Committed: 99, Attempts: 99}, "99 transactions were committed, fewer than 100"},
		{Hunted{Committed: 100, Attempts: 100}, ""},
		{Hunted{Committed: 5, Attempts: 100, Violated: true}, ""},
		{Hunted{Committed: 1000, Attempts: 10_000, Refused: 9000}, ""},
		{Hunted{Committed: 1000, Attempts: 11_000, Refused: 9990, Aborts: []collect.Abort{{Class: collect.ByClient,
			Count: 10}, {Class: "aborted", Code: "40001", Text: "could not serialize", Count: 9990}}},
			"the database refused 90.8 % of 11000 attempts; the " +
				"most frequent reason, 9990 times: aborted 40001: could not " +
				"serialize"},
	} {
		must.Equal(t, x.Inconclusive(), x.want, "%+v", x.Hunted)
	}
}

// TestHuntEnds: a hunt keeps to its time although its sessions have far more to do, and its checks too.
func TestHuntEnds(t *testing.T) {
	b := newBounds(time.Minute)
	if worst := time.Until(b.until) + b.late; worst > 66*time.Second || b.grace+b.late > 6*time.Second {
		t.Errorf("%v, %v and %v: more than a tenth behind its time", worst, b.grace, b.late)
	}
}

var errInvalid = errors.New("FATAL: the database has been invalidated")

// brittle is Badger, which an error breaks after so many commits: nothing answers since, until it is opened anew.
type brittle struct {
	driver.DB
	left *atomic.Int64
}

func (b *brittle) Breaks(err error) bool { return errors.Is(err, errInvalid) }

func (b *brittle) broken() error {
	if b.left.Load() < 0 {
		return errInvalid
	}
	return nil
}

func (b *brittle) Load(ctx context.Context, d driver.Data) error {
	return errors.Join(b.broken(), b.DB.Load(ctx, d))
}

func (b *brittle) Connect(ctx context.Context, node int) (driver.Session, error) {
	s, err := b.DB.Connect(ctx, node)
	return &brittleSession{s, b}, err
}

type brittleSession struct {
	driver.Session
	b *brittle
}

func (s *brittleSession) Begin() error { return errors.Join(s.b.broken(), s.Session.Begin()) }

func (s *brittleSession) Commit() error {
	if s.b.left.Add(-1) < 0 {
		return errInvalid
	}
	return s.Session.Commit()
}

// TestBroken: an error that breaks a database inside this program ends its round and not the hunt, which says so and
// goes on with the database opened anew; but not where it breaks at once each time.
func TestBroken(t *testing.T) {
	t.Parallel()
	var opened, lasts atomic.Int64
	driver.Register(driver.Scheme{Name: "brittle", URLs: []string{"brittle"}, Isolations: []string{"serializable"},
		Embedded: true}, func(ctx context.Context, _ []string, _ string, o driver.Options) (driver.DB, error) {
		opened.Add(1)
		o.Nodes = nil
		db, err := driver.Open(ctx, []string{"badger:"}, o)
		left := &atomic.Int64{}
		left.Store(lasts.Load())
		return &brittle{db, left}, err
	})
	c := Config{Config: collect.Config{DB: []string{"brittle:"}, Workload: "rmw", Txns: 50, Sessions: 4},
		Level: level.Serializable, For: 10 * time.Minute}
	lasts.Store(75)
	ctx, enough := context.WithCancel(t.Context())
	c.Told = func(r Round) {
		if r.Number >= 3 && opened.Load() >= 2 {
			enough()
		}
	}
	h, err := Run(ctx, c)
	if err != nil || h.Violated || len(h.Rounds) < 3 || len(h.Broken) < 1 || opened.Load() < 2 ||
		!strings.Contains(h.Broken[0], ": "+errInvalid.Error()) || h.Last.Verdict != evidence.Holds {
		t.Errorf("%v, opened %d times, %d rounds, broken %q; expected that it goes on", err, opened.Load(),
			len(h.Rounds), h.Broken)
	}
	for _, n := range []int64{0, -1} { // a first commit, or the load
		lasts.Store(n)
		h, err = Run(t.Context(), c)
		if !errors.Is(err, errInvalid) || len(h.Broken) != mostBroken {
			t.Errorf("%d commits: %v, broken %q; expected that it ends", n, err, h.Broken)
		}
	}
}

// waysDB is an SQL database with some ways of sending statements.
type waysDB struct {
	driver.DB
	ways []string
}

func (d waysDB) Info() driver.Info { return driver.Info{Dialect: "postgres"} }
func (d waysDB) Ways() []string    { return d.ways }
func (d waysDB) Send(string) error { return nil }

// TestTurns: in time each workload of a hunt by itself meets each number of keys, each way of sending statements, each
// of these with each, and changes of the schema; a hunt that is told what to do does that.
func TestTurns(t *testing.T) {
	broken := collect.Fault{Kind: collect.Kill, Every: time.Second}
	for _, e := range []struct {
		c             collect.Config
		ways, schemas int
	}{{collect.Config{}, 4, 1}, {collect.Config{Send: "x"}, 1, 1}, {collect.Config{Fault: broken}, 4, 0}} {
		all := must.Get(turns(&e.c, true))(t)
		vary(all, &e.c, waysDB{ways: []string{"a", "b", "c"}})
		met, schemas := map[string]map[string]bool{}, 0
		for n := range len(all) * 16 {
			one := e.c
			x := next(all, n, &one, time.Second)
			name := LoadName(one.Workload, one.Variant)
			if met[name] == nil {
				met[name] = map[string]bool{}
			}
			met[name][fmt.Sprint(one.Keys, " ", one.Send)] = true
			if one.Fault.Kind == collect.Schema {
				met[name]["schema"] = true
				schemas++
			} else if one.Fault != e.c.Fault {
				t.Errorf("fault %v; expected %v", one.Fault, e.c.Fault)
			}
			if want := len(x.sizes)*e.ways + e.schemas; n >= len(all)*15 && len(met[name]) != want {
				t.Errorf("%+v: %s met %d of %d: %v", e.c.Fault, name, len(met[name]), want, met[name])
			}
		}
		if n := len(all) * 16; len(met) != len(huntLoads) || e.schemas > 0 && (schemas < n/4 || schemas > n/2) {
			t.Errorf("%d workloads, the schema changed beside %d of %d rounds", len(met), schemas, n)
		}
	}
}

// TestPromised: the levels are those of the documentation; without a promise there is nothing to hunt for.
func TestPromised(t *testing.T) {
	c := Config{Config: collect.Config{DB: []string{"badger:"}, Workload: "rmw", Txns: 10}, Promised: true, For: 1}
	must.Equal(t, Named(must.Get(Run(t.Context(), c))(t).Levels), "serializable, snapshot-isolation", "levels")
	c.Isolation = "no-conflicts"
	if _, err := Run(t.Context(), c); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("%v; expected that nothing is promised", err)
	}
}

// lenient is Badger without conflicts, whose documentation allows lost updates.
type lenient struct{ driver.DB }

func (l lenient) Info() driver.Info {
	i := l.DB.Info()
	i.Name, i.Isolation = "Lenient", "none"
	return i
}

// TestAllowed: at the promised levels, what the documentation allows is no violation, and ends no round.
func TestAllowed(t *testing.T) {
	driver.Register(driver.Scheme{Name: "lenient", URLs: []string{"lenient"}, Isolations: []string{"none"},
		Embedded: true,
		Promises: []driver.Promise{{Database: "Lenient", Isolation: "none", Source: "its manual",
			But:    driver.LostUpdates,
			Levels: []level.Level{level.SnapshotIsolation}}}},
		func(ctx context.Context, _ []string, _ string, o driver.Options) (driver.DB, error) {
			o.Isolation = "no-conflicts"
			db, err := driver.Open(ctx, []string{"badger:"}, o)
			return lenient{db}, err
		})
	c := Config{Config: collect.Config{DB: []string{"lenient:"}, Isolation: "none", Workload: "rmw", Keys: 8,
		Txns: 500}, Level: level.SnapshotIsolation, For: time.Second}
	h := must.Get(Run(t.Context(), c))(t)
	must.Be(t, h.Violated && h.Allowed == 0, "%+v; expected a violation of the level that was named", h)
	c.Promised = true
	h = must.Get(Run(t.Context(), c))(t)
	must.Be(t, !h.Violated && h.Allowed > 0 && h.Undecided == 0 && !h.Rounds[0].Early && h.Inconclusive() == "",
		"%+v; expected rounds with what the promise allows", h)
}
