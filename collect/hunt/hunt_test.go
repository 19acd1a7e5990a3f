package hunt

import (
	"context"
	"strings"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/level"
)

// TestHuntAhead: a violation ends a round that would last for hours; the hunt goes on where it is asked to, and groups
// what it finds.
func TestHuntAhead(t *testing.T) {
	c := Config{Config: collect.Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "smallbank",
		Keys: 10,
		Txns: 1 << 40, Think: time.Millisecond}, Level: level.SnapshotIsolation, For: 5 * time.Minute}
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
	if err != nil {
		t.Fatal(err)
	}
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
			Count: 10},
			{Class: "aborted", Code: "40001", Text: "could not serialize", Count: 9990}}},
			"the database refused 90.8 % of 11000 attempts; the " +
				"most frequent reason, 9990 times: aborted 40001: could not " +
				"serialize"},
	} {
		if got := x.Inconclusive(); got != x.want {
			t.Errorf("%+v: %q; expected %q", x.Hunted, got, x.want)
		}
	}
}

// TestHuntEnds: a hunt keeps to its time although its sessions have far more to do, and its checks too.
func TestHuntEnds(t *testing.T) {
	b := newBounds(time.Minute)
	if worst := time.Until(b.until) + b.late; worst > 66*time.Second || b.grace+b.late > 6*time.Second {
		t.Errorf("%v, %v and %v: more than a tenth behind its time", worst, b.grace, b.late)
	}
}
