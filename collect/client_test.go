package collect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"isovet/collect/driver"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// fakeDB is a serial store whose operations fail as a script of chance says.
type fakeDB struct {
	mu       sync.Mutex
	rng      *rand.Rand
	rows     map[int64]driver.Row
	dead     bool // nobody can connect
	sessions int
	applied  map[int64]bool // versions that took effect
}

type fakeError struct{ class driver.Class }

func (e fakeError) Error() string { return "fake: " + e.class.String() }

func (d *fakeDB) Info() driver.Info {
	return driver.Info{Name: "fake", Isolation: "serial", Nodes: []driver.Node{{Name: "a"}, {Name: "b"}}}
}
func (d *fakeDB) Load(_ context.Context, data driver.Data) error {
	d.rows, d.applied = map[int64]driver.Row{}, map[int64]bool{}
	for k, r := range data.Rows {
		d.rows[k] = r
	}
	return nil
}
func (d *fakeDB) Connect(context.Context, int) (driver.Session, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, fakeError{driver.Lost}
	}
	d.sessions++
	return &fakeSession{d: d, buf: map[int64]driver.Row{}}, nil
}
func (d *fakeDB) Classify(err error) driver.Class {
	var e fakeError
	if errors.As(err, &e) {
		return e.class
	}
	return driver.Fatal
}
func (d *fakeDB) Cut()                     {}
func (d *fakeDB) Partition(int, bool) bool { return false }
func (d *fakeDB) Close() error             { return nil }

// fail draws an error.
func (d *fakeDB) fail(percent int, classes ...driver.Class) error {
	if d.rng.IntN(100) >= percent {
		return nil
	}
	return fakeError{classes[d.rng.IntN(len(classes))]}
}

// fakeSession holds the store's lock from begin to end: transactions are serial.
type fakeSession struct {
	d    *fakeDB
	buf  map[int64]driver.Row
	open bool
}

func (s *fakeSession) Begin() error {
	s.d.mu.Lock()
	s.open = true
	clear(s.buf)
	return s.d.fail(2, driver.Lost, driver.Aborted)
}
func (s *fakeSession) Get(k int64, _ bool) (driver.Row, bool, error) {
	if err := s.d.fail(3, driver.Lost, driver.Aborted); err != nil {
		return driver.Row{}, false, err
	}
	r, ok := s.buf[k]
	if !ok {
		r, ok = s.d.rows[k]
	}
	return r, ok, nil
}
func (s *fakeSession) Put(k int64, r driver.Row) error {
	if err := s.d.fail(3, driver.Lost, driver.Aborted); err != nil {
		return err
	}
	s.buf[k] = r
	return nil
}
func (s *fakeSession) Append(int64, int64) error { return driver.ErrUnsupported }
func (s *fakeSession) List(d []int64, _ int64) ([]int64, bool, error) {
	return d, false, driver.ErrUnsupported
}
func (s *fakeSession) Commit() error {
	err := s.d.fail(20, driver.Lost, driver.Aborted, driver.Unclear)
	if err == nil || s.d.Classify(err) != driver.Aborted && s.d.rng.IntN(2) == 0 {
		for k, r := range s.buf {
			s.d.rows[k] = r
			s.d.applied[r.Version] = true
		}
	}
	s.end()
	return err
}
func (s *fakeSession) end() {
	if s.open {
		s.open = false
		s.d.mu.Unlock()
	}
}
func (s *fakeSession) Rollback() error { s.end(); return nil }
func (s *fakeSession) Close()          { s.end() }

// TestStatuses: whatever goes wrong, what is recorded as committed took effect, as aborted did not, and no read saw
// what an aborted transaction wrote.
func TestStatuses(t *testing.T) {
	randtest.Seeds(t, 20, func(t testing.TB, seed uint64) {
		db := &fakeDB{rng: rand.New(rand.NewPCG(seed, 1))}
		target := &Target{DB: db}
		r, err := target.Collect(context.Background(), Config{DB: []string{"fake"}, Workload: "rmw", Keys: 10,
			Txns: 200, Sessions: 5, Seed: seed})
		must.OK(t, err, "seed %d", seed)
		h := r.History
		var count [3]int
		for x := range uint32(h.NumTxns()) {
			if x == h.Init {
				continue
			}
			count[h.Txns.Status[x]]++
			lo, hi := h.TxnOps(x)
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] != history.Write {
					continue
				}
				did := db.applied[h.VerN[h.Ops.Ver[op]]]
				if s := h.Txns.Status[x]; s == history.Committed && !did || s == history.Aborted && did {
					t.Errorf("seed %d: transaction %d is recorded as %v, but took effect: %v", seed, h.Txns.ID[x], s,
						did)
				}
			}
		}
		if count[history.Committed] != 200 || count[history.Aborted] == 0 || count[history.Unknown] == 0 {
			t.Errorf("seed %d: %v", seed, count)
		}
		if count[history.Unknown] != r.Summary.Unknown || db.sessions <= 5 {
			t.Errorf("seed %d: %d unknown, %d in the summary; %d connections", seed, count[history.Unknown],
				r.Summary.Unknown, db.sessions)
		}
	})
}

// TestGone: a database that is gone for good ends the run; what was recorded is kept.
func TestGone(t *testing.T) {
	db := &fakeDB{rng: rand.New(rand.NewPCG(1, 1))}
	target := &Target{DB: db}
	c := Config{DB: []string{"fake"}, Workload: "rmw", Keys: 10, Txns: 1 << 40, Sessions: 3,
		Patience: 20 * time.Millisecond}
	c.Progress = func(p Progress) {
		if p.Committed > 0 {
			db.mu.Lock()
			db.dead = true
			db.mu.Unlock()
		}
	}
	r, err := target.Collect(context.Background(), c)
	if err == nil || r == nil || r.History.NumTxns() < 2 {
		t.Fatalf("result %v, error %v", r, err)
	}
}

// TestFatal: an error that is nobody's bad luck ends the run with its text.
func TestFatal(t *testing.T) {
	target := &Target{DB: &fakeDB{rng: rand.New(rand.NewPCG(1, 1))}}
	_, err := target.Collect(context.Background(), Config{DB: []string{"fake"}, Custom: listWorkload{}, Txns: 10,
		Sessions: 2})
	if !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// listWorkload appends to a list, which the fake has not.
type listWorkload struct{}

func (listWorkload) Tables() []workload.Table               { return []workload.Table{{List: true}} }
func (listWorkload) Client(int, *rand.Rand) workload.Client { return listWorkload{} }
func (listWorkload) Next(t *workload.Txn)                   { t.Name = "append" }
func (listWorkload) Step(t *workload.Txn) {
	if t.Stage == 0 {
		t.Append(0)
	}
}

// TestConditionText: ranges become predicates of the format.
func TestConditionText(t *testing.T) {
	cols := []workload.Column{{Name: "b"}, {Name: "a"}}
	const open = 1<<63 - 1
	for want, where := range map[string][]workload.Range{
		`{"a":{"=":7}}`:                          {workload.Equal(1, 7)},
		`{"a":{"<":9},"b":{"<":3,">=":1}}`:       {{Column: 0, Min: 1, Max: 3}, {Column: 1, Min: -open - 1, Max: 9}},
		`{"b":{">=":1}}`:                         {{Column: 0, Min: 1, Max: open}},
		`{"and":[{"b":{"<":3}},{"b":{">=":1}}]}`: {{Column: 0, Min: 1, Max: open}, {Column: 0, Min: -open - 1, Max: 3}},
		`{"b":{">=":-9223372036854775808}}`:      {{Column: 0, Min: -open - 1, Max: open}}, // not rows without b
		`{}`:                                     {},
	} {
		must.Equal(t, string(workload.Condition(cols, where)), want, "%v", where)
	}
}

// TestEndText: what a read of one end says is true whatever lies at the same place, and of no row beyond.
func TestEndText(t *testing.T) {
	r := &run{tables: []workload.Table{{Name: "t", Columns: []workload.Column{{Name: "a"}, {Name: "b"}}}}}
	for _, c := range []struct {
		end   workload.End
		found int
		want  string
		rows  int
	}{{workload.First, 1, `{"or":[{"a":{"<":7,">=":1}},{"key":{"=":"t/3"}}]}`, 1},
		{workload.Last, 1, `{"or":[{"a":{"=":8}},{"key":{"=":"t/3"}}]}`, 1},
		{workload.Min, 1, `{"a":{"<":7,">=":1}}`, 0}, {workload.Max, 1, `{"a":{"=":8}}`, 0},
		{workload.Max, 0, `{"a":{"<":9,">=":1}}`, 0}, {workload.Last, 2, `{"a":{"<":9,">=":1}}`, 2}} {
		pred, rows := r.says(&workload.Op{End: c.end, Where: []workload.Range{{Min: 1, Max: 9}}},
			[]driver.Match{{PK: 3, Old: []int64{1, 7, 0}}, {}}[:c.found])
		must.Equal(t, fmt.Sprint(string(pred), len(rows)), fmt.Sprint(c.want, c.rows), "%v of %d", c.end, c.found)
	}
}
