package collect

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/internal/safego"
	"isovet/level"
)

// TestPast: of a run on a database that keeps its promise no moment violates it, predicates and lists included; behind
// the end, the moment is the whole history.
func TestPast(t *testing.T) {
	for _, c := range []Config{
		{DB: []string{"badger:"}, Workload: "smallbank", Keys: 8},
		{DB: []string{"badger:"}, Workload: "list-append"},
		{DB: []string{"sqlite:"}, Workload: "booking"},
		{DB: []string{"sqlite:"}, Workload: "claim"},
		{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "rmw", Keys: 5},
	} {
		c.Seed, c.ahead, c.Think = 3, &ahead{}, 200*time.Microsecond // of which nothing but the recording is used
		c.Txns, c.Sessions = 200, 12
		c = c.withDefaults()
		target, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		r := &run{cfg: c, target: target, info: target.db.Info()}
		r.cfg.ahead.until = time.Now().Add(time.Hour)
		if err := errors.Join(r.prepare(), target.db.Load(t.Context(), r.data()), r.connect(t.Context())); err != nil {
			t.Fatal(err)
		}
		var g safego.Group
		done := make(chan struct{})
		g.Go(func() {
			defer close(done)
			r.drive(t.Context())
		})
		past := func() *evidence.Result {
			h, err := r.past()
			if err != nil {
				t.Fatal(err)
			}
			if h == nil {
				return nil
			}
			x, err := examineAt(t.Context(), h, level.Serializable, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		moments := 0
		for over := false; !over; {
			select {
			case <-done:
				over = true
			case <-time.After(5 * time.Millisecond):
			}
			if x := past(); x != nil {
				moments++
				if x.Verdict == evidence.Violated && c.Isolation == "" {
					t.Fatalf("%s %s: a moment with %d transactions is violated: %s", c.DB[0], c.Workload, x.H.NumTxns(),
						evidence.Describe(&x.Anomalies[0], x.H))
				}
			}
		}
		g.Wait()
		whole, err := r.build(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		last := past()
		if last.H.NumTxns() != whole.NumTxns() || last.H.NumOps() != whole.NumOps() {
			t.Errorf("%s: %d transactions at the end, %d in the history", c.Workload, last.H.NumTxns(),
				whole.NumTxns())
		}
		if c.Isolation != "" && last.Verdict != evidence.Violated {
			t.Errorf("%s: %v; expected lost updates", c.Workload, last.Verdict)
		}
		t.Logf("%s %s: %d moments", c.DB[0], c.Workload, moments)
	}
}

// TestHuntAhead: a violation ends a round that would last for hours; the hunt goes on where it is asked to, and groups
// what it finds.
func TestHuntAhead(t *testing.T) {
	c := HuntConfig{Config: Config{DB: []string{"badger:"}, Isolation: "no-conflicts", Workload: "smallbank", Keys: 10,
		Txns: 1 << 40, Think: time.Millisecond}, Level: level.SnapshotIsolation, For: 5 * time.Minute}
	h, err := Hunt(t.Context(), c)
	if err != nil || !h.Violated || len(h.Rounds) != 1 || !h.Rounds[0].Early || len(h.Found) == 0 {
		t.Fatalf("%v, %+v; expected a violation while the first round lasts", err, h)
	}
	if g := h.Found[0]; g.Kind == "" || len(g.Txns) == 0 || g.Rounds != 1 || g.Anomalies == 0 || g.Text == "" ||
		g.First.Number != 1 || g.After() > h.Elapsed || h.Inconclusive() != "" {
		t.Errorf("%+v", g)
	}
	c.GoOn, c.Txns, c.For = true, 200, 10*time.Minute
	kept := 0
	c.Keep = func(_ context.Context, f *Found, fresh []*Group) error {
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
	h, err = Hunt(ctx, c)
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
type stubborn struct{ moody }

type stubbornTxn struct {
	moodyTxn
	read bool
}

func (s *stubborn) Begin() (driver.KVTxn, error) {
	return &stubbornTxn{moodyTxn: moodyTxn{&s.moody}}, nil
}

func (t *stubbornTxn) Get(key []byte) ([]byte, bool, error) {
	t.read = true
	return t.moodyTxn.Get(key)
}

func (t *stubbornTxn) Commit() error {
	if t.read {
		return driver.ErrConflict
	}
	return nil
}

// TestInconclusive: where hardly anything was committed, that nothing was found means nothing.
func TestInconclusive(t *testing.T) {
	driver.RegisterStore(driver.Store{Scheme: "stubborn", Isolations: []string{"none"},
		Open: func(string, string) (driver.KV, error) { return &stubborn{}, nil }})
	c := HuntConfig{Config: Config{DB: []string{"stubborn:"}, Workload: "rmw", Txns: 120, Sessions: 8},
		Level: level.ReadCommitted, For: 500 * time.Millisecond}
	h, err := Hunt(t.Context(), c)
	for err == nil && h.Refused == 0 && c.For < time.Minute { // a busy machine
		c.For *= 4
		h, err = Hunt(t.Context(), c)
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
		{Hunted{Committed: 1000, Attempts: 11_000, Refused: 9990, Aborts: []Abort{{Class: ByClient, Count: 10},
			{Class: "aborted", Code: "40001", Text: "could not serialize", Count: 9990}}},
			"90.8 % of 11000 attempts were refused; the most frequent reason, 9990 times: aborted 40001: could not " +
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
	a := ahead{}
	a.took(2*time.Second, 1000)
	if got := a.need(2000); got != 6*time.Second {
		t.Errorf("the check of 2000 transactions needs %v; expected 1.5 times what 1000 took, twice", got)
	}
}
