package collect

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"isovet/history"
)

// Recorder records transactions that your own program runs, on your own tables, with your own client library. Each
// client session of yours has a Session; what it does goes through closures, so that times are taken around them:
//
//	rec := collect.NewRecorder(history.Meta{DB: "mine"})
//	s := rec.Session("node1")
//	t := s.Begin("transfer")
//	v, err := t.Read("x", func() (any, error) { … })
//	err = t.Write("x", id, func() error { … })
//	err = t.Commit(tx.Commit)
//	…
//	h, err := rec.History()
//
// A checker can tell more the more versions differ: write a unique id beside your business value, and record that.
// Recorder is safe for concurrent use; a Session and its transactions are for one goroutine.
type Recorder struct {
	// Aborted reports whether an error of a commit says for sure that the transaction had no effect. Unset: none does,
	// and the outcome of a commit that fails is recorded as unknown.
	Aborted func(error) bool

	mu       sync.Mutex
	b        *history.Builder
	epoch    time.Time
	sessions []*Session
	nodes    []string
	initial  []opRec
	err      error // the first value that a history cannot hold
}

// NewRecorder starts the clock. meta becomes the history's header.
func NewRecorder(meta history.Meta) *Recorder {
	r := &Recorder{b: history.NewBuilder(), epoch: time.Now()}
	r.b.Meta = meta
	return r
}

// Initial says that a key held a value before all transactions.
func (r *Recorder) Initial(key, value any) {
	o := opRec{key: r.intern(key, true), value: r.intern(value, false), kind: history.Write}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.initial = append(r.initial, o)
}

// Session adds a client session; node is the name of the server that it talks to, "" if there is but one.
func (r *Recorder) Session(node string) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Session{r: r, id: int32(len(r.sessions)), node: -1}
	r.sessions = append(r.sessions, s)
	if node == "" {
		return s
	}
	for i, n := range r.nodes {
		if n == node {
			s.node = int32(i)
		}
	}
	if s.node < 0 {
		s.node = int32(len(r.nodes))
		r.nodes = append(r.nodes, node)
	}
	return s
}

// History builds the history. No session may be in use; transactions that were begun and not ended are left out.
func (r *Recorder) History() (*history.History, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	if len(r.initial) > 0 {
		for _, o := range r.initial {
			r.b.Write(r.b.Key(o.key), o.value)
		}
		h := history.NewTxnHead()
		h.HasID, h.Init = true, true
		r.b.EndTxn(h)
	}
	var logs []*log
	for _, s := range r.sessions {
		logs = append(logs, &s.log)
	}
	fill(r.b, logs, 1, r.nodes, naming{key: r.b.Key})
	return r.b.Build()
}

// intern makes a Value of what a client has; a bad one is an error of History.
func (r *Recorder) intern(v any, key bool) history.Value {
	switch v := v.(type) {
	case nil:
		if !key {
			return history.Value{}
		}
	case int:
		return history.IntValue(int64(v))
	case int64:
		return history.IntValue(v)
	case int32:
		return history.IntValue(int64(v))
	case uint32:
		return history.IntValue(int64(v))
	case uint64:
		if v <= math.MaxInt64 {
			return history.IntValue(int64(v))
		}
	case bool:
		if !key {
			return history.BoolValue(v)
		}
	case string:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.b.StringValue([]byte(v))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		what := "value"
		if key {
			what = "key"
		}
		r.err = fmt.Errorf("%s %v of type %T; expected an integer, a string, or, as a value, a boolean or nil", what, v,
			v)
	}
	return history.IntValue(0)
}

// Session is one client of a Recorder's.
type Session struct {
	r    *Recorder
	id   int32
	node int32
	log  log
	open *Txn
}

// Txn is a transaction of a Session's.
type Txn struct {
	s *Session
	x txnRec
}

// Begin begins a transaction; name is its template, for reports. Call it just before begin is sent. The session's
// previous transaction must have ended.
func (s *Session) Begin(name string) *Txn {
	if s.open != nil {
		panic("collect: Begin before the session's transaction has ended")
	}
	s.open = &Txn{s: s, x: txnRec{
		start: s.r.now(), commit: history.NoTime, end: history.NoTime, startTS: history.NoTime,
		commitTS: history.NoTime,
		name:     name, session: s.id, node: s.node,
	}}
	return s.open
}

func (r *Recorder) now() int64 { return int64(time.Since(r.epoch)) }

// errEnded is a mistake of the caller's.
var errEnded = errors.New("collect: the transaction has ended")

// Read runs a read and records what it returned, nil for a key that is absent. A failed read is not recorded.
func (t *Txn) Read(key any, read func() (any, error)) (any, error) {
	o := opRec{key: t.s.r.intern(key, true), kind: history.Read, start: t.s.r.now()}
	v, err := read()
	if err != nil {
		return v, err
	}
	o.end = t.s.r.now()
	o.value = t.s.r.intern(v, false)
	return v, t.add(o)
}

// Write runs a write of a value, nil for a delete, and records it. A failed write is recorded too: where the answer was
// lost, others may have seen it; roll back after it.
func (t *Txn) Write(key, value any, write func() error) error {
	o := opRec{key: t.s.r.intern(key, true), value: t.s.r.intern(value, false), kind: history.Write, start: t.s.r.now()}
	err := write()
	o.end = t.s.r.now()
	return errors.Join(err, t.add(o))
}

func (t *Txn) add(o opRec) error {
	if t.s.open != t {
		return errEnded
	}
	t.s.log.add(o)
	return nil
}

// Commit runs the commit and records the outcome: committed without an error, aborted with one that Recorder.Aborted
// knows, else unknown. It returns the error.
func (t *Txn) Commit(commit func() error) error {
	t.x.commit = t.s.r.now()
	err := commit()
	switch {
	case err == nil:
		t.x.end = t.s.r.now()
	case t.s.r.Aborted != nil && t.s.r.Aborted(err):
		t.x.end, t.x.status = t.s.r.now(), history.Aborted
	default:
		t.x.status = history.Unknown
	}
	return errors.Join(err, t.end())
}

// Rollback runs the rollback and records the transaction as aborted.
func (t *Txn) Rollback(rollback func() error) error {
	t.x.commit = t.s.r.now()
	err := rollback()
	t.x.end, t.x.status = t.s.r.now(), history.Aborted
	return errors.Join(err, t.end())
}

func (t *Txn) end() error {
	if t.s.open != t {
		return errEnded
	}
	t.s.open = nil
	t.s.log.end(t.x)
	return nil
}
