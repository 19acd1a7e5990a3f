package collect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"isovet/check"
	"isovet/collect"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// A database of your own: here, two clients both read x and then write it, which is a lost update.
func ExampleRecorder() {
	x := 1 // the "database"
	rec := collect.NewRecorder(history.Meta{DB: "a variable"})
	rec.Initial("x", x)
	a, b := rec.Session(""), rec.Session("")
	read := func() (any, error) { return x, nil }
	write := func(v int) func() error { return func() error { x = v; return nil } }
	commit := func() error { return nil }

	ta, tb := a.Begin("add"), b.Begin("add")
	_, _ = ta.Read("x", read)
	_, _ = tb.Read("x", read)
	_ = ta.Write("x", 2, write(2))
	_ = tb.Write("x", 3, write(3))
	_ = ta.Commit(commit)
	_ = tb.Commit(commit)

	h, err := rec.History()
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _ := check.Auto(h, level.Serializable)
	r, err := check.Run(context.Background(), c, h, check.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verdict, r.Anomalies[0].Kind)
	// Output: violation lost-update
}

// A whole run against a database inside this program.
func ExampleRun() {
	r, err := collect.Run(context.Background(), collect.Config{DB: []string{"sqlite:"}, Workload: "smallbank",
		Txns: 500, Sessions: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Summary.Committed, "transactions,", r.Summary.Isolation)
	// Output: 500 transactions, serializable
}

// TestRecorderStatuses: a commit that fails is unknown unless it surely had no effect; aborted and unknown ones keep
// their writes.
func TestRecorderStatuses(t *testing.T) {
	refused, gone := errors.New("refused"), errors.New("gone")
	rec := collect.NewRecorder(history.Meta{Name: "n"})
	rec.Aborted = func(err error) bool { return errors.Is(err, refused) }
	s := rec.Session("n1")
	ok := func() error { return nil }
	for i, end := range []func(*collect.Txn) error{
		func(t *collect.Txn) error { return t.Commit(ok) },
		func(t *collect.Txn) error { return t.Commit(func() error { return refused }) },
		func(t *collect.Txn) error { return t.Commit(func() error { return gone }) },
		func(t *collect.Txn) error { return t.Rollback(ok) },
	} {
		x := s.Begin("w")
		if err := x.Write("k", i+1, ok); err != nil {
			t.Fatal(err)
		}
		if err := end(x); (err != nil) != (i == 1 || i == 2) {
			t.Errorf("end %d: %v", i, err)
		}
		if err := x.Write("k", 9, ok); err == nil {
			t.Errorf("end %d: a write after the end is taken", i)
		}
	}
	h, err := rec.History()
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Status{history.Committed, history.Aborted, history.Unknown, history.Aborted}
	if h.NumTxns() != len(want) || h.NumOps() != len(want) {
		t.Fatalf("%d transactions, %d operations", h.NumTxns(), h.NumOps())
	}
	for i, w := range want {
		u := uint32(i)
		if h.Txns.Status[u] != w || h.Start(u) > h.Commit(u) || (h.End(u) == history.NoTime) != (w == history.Unknown) {
			t.Errorf("transaction %d: %v, start %d, commit %d, end %d", i, h.Txns.Status[u], h.Start(u), h.Commit(u),
				h.End(u))
		}
	}
}

func TestRecorderRefusesValues(t *testing.T) {
	rec := collect.NewRecorder(history.Meta{})
	x := rec.Session("").Begin("")
	_ = x.Write("k", 1.5, func() error { return nil })
	_ = x.Commit(func() error { return nil })
	if _, err := rec.History(); err == nil || !strings.Contains(err.Error(), "float64") {
		t.Errorf("a float as a value: %v", err)
	}
}

// TestRecorderManySessions records a serializable store behind a mutex from many goroutines.
func TestRecorderManySessions(t *testing.T) {
	rec := collect.NewRecorder(history.Meta{})
	var mu sync.Mutex
	store := map[string]int{}
	var all sync.WaitGroup
	for i := range 8 {
		s := rec.Session(fmt.Sprintf("n%d", i%2))
		all.Go(func() {
			for n := range 50 {
				key := fmt.Sprint("k", n%3)
				x := s.Begin("rmw")
				mu.Lock()
				_, _ = x.Read(key, func() (any, error) {
					if v, ok := store[key]; ok {
						return v, nil
					}
					return nil, nil
				})
				id := 1 + n*8 + i
				_ = x.Write(key, id, func() error { store[key] = id; return nil })
				mu.Unlock()
				_ = x.Commit(func() error { return nil })
			}
		})
	}
	all.Wait()
	h, err := rec.History()
	if err != nil {
		t.Fatal(err)
	}
	verdict(t, h, level.Serializable, evidence.Holds)
	verdict(t, h, level.SessionSerializable, evidence.Holds)
}

// verdict checks a history as isovet check does.
func verdict(t *testing.T, h *history.History, l level.Level, want evidence.Verdict) *evidence.Result {
	t.Helper()
	c, ok := check.Auto(h, l)
	if !ok {
		t.Fatalf("no checker for %v", l)
	}
	r, err := check.Run(context.Background(), c, h, check.Options{Level: l})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != want {
		t.Errorf("%s %s: %v at %v, expected %v: %s", h.Meta.DB, h.Meta.Isolation, r.Verdict, l, want, r.Reason)
	}
	return r
}
