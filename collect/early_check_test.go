package collect

import (
	"context"
	"errors"
	"testing"
	"time"

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
		c.Seed, c.Ahead, c.Think = 3, &Ahead{}, 200*time.Microsecond // of which nothing but the recording is used
		c.Txns, c.Sessions = 200, 12
		c = c.WithDefaults()
		target, err := Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		r := &run{cfg: c, target: target, info: target.DB.Info()}
		r.cfg.Ahead.Until = time.Now().Add(time.Hour)
		if err := errors.Join(r.prepare(), target.DB.Load(t.Context(), r.data()), r.connect(t.Context())); err != nil {
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
			x, err := Examine(t.Context(), h, level.Serializable, time.Minute)
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

// TestNeed: a check of more transactions takes more than linear time.
func TestNeed(t *testing.T) {
	a := Ahead{}
	a.Took(2*time.Second, 1000)
	if got := a.need(2000); got != 6*time.Second {
		t.Errorf("the check of 2000 transactions needs %v; expected 1.5 times what 1000 took, twice", got)
	}
}
