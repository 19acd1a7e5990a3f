package collect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"isovet/collect/driver"
	"isovet/history"
	"isovet/internal/test/must"
)

// stuck is a store with one lock, one of whose calls comes back when it is told to: the one of a kind that it is made
// for, behind so many others.
type stuck struct {
	mu    sync.Mutex
	rows  map[string]string
	call  string
	after int64
	n     atomic.Int64
	again chan struct{}
	shut  atomic.Int64 // transactions that were ended
}

type stuckTxn struct {
	s      *stuck
	writes map[string]string
}

func (s *stuck) stick(call string) {
	if call == s.call && s.n.Add(1) == s.after {
		<-s.again
	}
}

func (s *stuck) Close() error { return nil }

func (s *stuck) Begin() (driver.KVTxn, error) {
	s.stick("begin")
	return &stuckTxn{s, map[string]string{}}, nil
}

func (t *stuckTxn) Get(key []byte) ([]byte, bool, error) {
	t.s.stick("get")
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	v, ok := t.s.rows[string(key)]
	return []byte(v), ok, nil
}

// Put writes at once: what it wrote is seen by others, whether it comes back or not.
func (t *stuckTxn) Put(key, value []byte) error {
	t.s.mu.Lock()
	t.s.rows[string(key)] = string(value)
	t.s.mu.Unlock()
	t.s.stick("put")
	return nil
}

func (t *stuckTxn) Commit() error   { t.s.stick("commit"); return nil }
func (t *stuckTxn) Rollback() error { t.s.shut.Add(1); t.s.stick("rollback"); return nil }

// TestStuck: a call that does not come back ends its session, and not the run; what was recorded is sound, a write in
// that call among it.
func TestStuck(t *testing.T) {
	t.Parallel()
	for i, call := range []string{"begin", "get", "put", "commit"} {
		s := &stuck{rows: map[string]string{}, call: call, after: 20, again: make(chan struct{})}
		name := fmt.Sprintf("stuck%d", i)
		driver.RegisterStore(driver.Store{Scheme: name, Isolations: []string{"none"},
			Open: func(string, string) (driver.KV, error) { return s, nil }})
		c := Config{DB: []string{name + ":"}, Workload: "rmw", Keys: 4, Txns: 200, Sessions: 4,
			Timeout: 500 * time.Millisecond, KeepCalls: true}
		if call == "put" {
			s.after = 40 // behind those of the load
		}
		target := must.Get(Open(t.Context(), c))(t)
		r, err := target.Collect(t.Context(), c)
		must.OK(t, err, "%s", call)
		if sum := &r.Summary; sum.Committed < 150 || !strings.Contains(fmt.Sprint(sum.Aborts),
			"the database has not answered for 500ms") || (call == "commit") != (sum.Unknown > 0) {
			t.Errorf("%s: %+v", call, sum)
		}
		noThinAir(t, call, r.History)
		if _, err := target.Collect(t.Context(), c); err == nil || !strings.Contains(err.Error(), "abandoned session") {
			t.Errorf("%s: another run: %v; expected that it is refused", call, err)
		}
		if err := target.Close(); err == nil || !strings.Contains(err.Error(), "abandoned session") {
			t.Errorf("%s: closing: %v; expected that it is not waited for", call, err)
		}
		before := s.shut.Load()
		late := r.run.clients[slices.IndexFunc(r.run.clients, func(c *client) bool { return c.isGone() })]
		was := late.o // the watchdog's by now, as all that was the session's
		close(s.again)
		ends := call == "get" || call == "put"
		if err := target.hung.await(time.Minute); err != nil || ends && s.shut.Load() == before {
			t.Errorf("%s: %v; expected that the late session ends its transaction", call, err)
		}
		must.Equal(t, late.o, was, "%s", call)
	}
}

// noThinAir: whatever was read was written by somebody.
func noThinAir(t *testing.T, call string, h *history.History) {
	t.Helper()
	written := make([]bool, h.NumVersions())
	for op := range uint32(h.NumOps()) {
		if k := h.Ops.Kind[op]; k == history.Write {
			written[h.Ops.Ver[op]] = true
		}
	}
	for op := range uint32(h.NumOps()) {
		if k := h.Ops.Kind[op]; k == history.Read && !written[h.Ops.Ver[op]] {
			t.Errorf("%s: operation %d read what nobody wrote", call, op)
		}
	}
}

// TestStuckWhole: a run whose sessions all hang ends with an error, and so does one that is interrupted, in time.
func TestStuckWhole(t *testing.T) {
	t.Parallel()
	s := &stuck{rows: map[string]string{}, call: "get", after: 1, again: make(chan struct{})}
	defer close(s.again)
	driver.RegisterStore(driver.Store{Scheme: "stuckwhole", Isolations: []string{"none"},
		Open: func(string, string) (driver.KV, error) { return s, nil }})
	c := Config{DB: []string{"stuckwhole:"}, Workload: "rmw", Keys: 4, Txns: 200, Sessions: 1,
		Timeout: 200 * time.Millisecond}
	r, err := Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "no session is left") || r == nil {
		t.Errorf("%v; expected an error that no session is left", err)
	}
	s.n.Store(0)
	c.Timeout = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	target := must.Get(Open(ctx, c))(t)
	time.AfterFunc(100*time.Millisecond, cancel)
	r, err = target.Collect(ctx, c)
	if err != nil || !r.Interrupted || r.Summary.Aborted != 1 || r.Summary.Refused() != 0 {
		t.Errorf("%v, %+v; expected that the attempt ended with the run", err, r)
	}
}
