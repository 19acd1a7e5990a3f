package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Options are the options of a recorder. The zero value is usable.
type Options struct {
	// Meta is the history's header: free text for people. Meta.Lists says that all keys are append-only lists.
	Meta history.Meta
	// Promised is the isolation level that the database was asked for. It goes into the header if Meta.Isolation is
	// empty.
	Promised *level.Level
	// Seed is the seed of the program's random choices. It goes into the header's note, and isovettest reports it. 0
	// means none.
	Seed uint64
	// Aborted reports whether an error of a commit shows that the transaction had no effect, such as PostgreSQL's
	// serialization failure. If it is nil, a failed commit always has an unknown outcome.
	Aborted func(error) bool
	// OpTimes gives each operation an interval: from the transaction's last call to this one. Set it only if the
	// program records each operation directly after its answer. Checker leopard needs the intervals.
	OpTimes bool
	// MaxValue is the length in bytes above which a text is replaced by its SHA-256; 0 means 1024.
	MaxValue int
	// OnError is called with the error of an operation that cannot be recorded, by the goroutine of the call. Several
	// goroutines may call it at once.
	OnError func(error)
	// Clock returns nanoseconds that never decrease; nil means the monotonic clock.
	Clock func() int64
	// Tee, if the recording is a stream or in parts, is called with the line of each transaction that has ended,
	// without the initial values. Any goroutine may call it. It must not keep the line.
	Tee func(line []byte)
	// Client is the HTTP client of Send; nil means http.DefaultClient.
	Client *http.Client
	// Token is the token that Send shows to a watch with --token-file, or "".
	Token string
	// Patience bounds how long Send tries to reach the watch again; 0 means 30 s.
	Patience time.Duration
}

// Stats counts the recorded transactions and operations.
type Stats struct{ Committed, Aborted, Unknown, Ops int64 }

// Recorder records transactions. Several goroutines may use it.
type Recorder struct {
	o     Options
	clock func() int64
	path  string
	ids   atomic.Int64
	n     [3]atomic.Int64 // transactions by status
	ops   atomic.Int64

	stream  *Stream // nil: in memory, or in parts
	parts   *Parts
	first   sync.Once // the initial values are written
	intents bool      // the stream is a file that may be cut off

	mu       sync.Mutex
	sessions map[*Session]struct{}
	last     int64 // session
	b        *history.Builder
	names    map[string]uint32
	initial  []op
	before   map[value]told // what Initial said of each key
	past     *Session       // of values that were there before; nil: none was told too late for the first line
	born     atomic.Int64   // when the first transaction began
	level    atomic.Uint32  // of a transaction, and one more; 0: none said
	begun    bool           // the initial values have been written
	h        *history.History
	err      error // the first
	closed   bool
}

// ErrClosed is the error of calls after Close or History.
var ErrClosed = errors.New("record: the recorder is closed")

// New returns a recorder that keeps the history in memory. History returns it.
func New(o Options) *Recorder {
	r := newRecorder(o)
	r.b = history.NewBuilder()
	r.b.Meta = r.o.Meta
	return r
}

// Create returns a recorder that streams to a new file; Close completes it. If the program is killed, the file has
// everything up to 100 ms before, and isovet check reads it. Create overwrites a file with that name.
func Create(path string, o Options) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r := newRecorder(o)
	r.path, r.intents = path, true
	r.stream = NewStream(f)
	if err := r.stream.Append(Header(nil, r.o.Meta, true), true); err != nil {
		return nil, errors.Join(err, r.stream.Close())
	}
	return r, nil
}

// CreateParts returns a recorder that streams to the parts of a new folder, for recordings of any length; Close
// completes it. isovet check can read the folder at any time, also if the program is killed. Initial values
// (Recorder.Initial) should be set before the first transaction ends.
func CreateParts(dir string, o Options, rotate Rotation) (*Recorder, error) {
	r := newRecorder(o)
	r.path = dir
	var err error
	if r.parts, err = NewParts(dir, r.o.Meta, rotate); err != nil {
		return nil, err
	}
	return r, nil
}

// Parts returns the parts of a recorder made by CreateParts, or nil.
func (r *Recorder) Parts() *Parts { return r.parts }

// To returns a recorder that streams finished transactions to w, as JSON lines behind a header. Close does not close w.
func To(w io.Writer, o Options) *Recorder {
	r := newRecorder(o)
	r.stream = NewStream(struct{ io.Writer }{w})
	r.fail(r.stream.Append(Header(nil, r.o.Meta, false), false))
	return r
}

// Send returns a recorder that posts finished transactions to an isovet watch --source at url, in batches. The watch
// takes each once, even if it is sent again. No other program may post to this watch. Close posts the rest.
func Send(url string, o Options) (*Recorder, error) {
	r := newRecorder(o)
	p, err := newPoster(url, &r.o)
	if err != nil {
		return nil, err
	}
	r.stream = NewStream(p)
	if p.from == 0 {
		r.fail(r.stream.Append(Header(nil, r.o.Meta, false), false))
	}
	return r, nil
}

func newRecorder(o Options) *Recorder {
	if o.MaxValue <= 0 {
		o.MaxValue = 1024
	}
	if o.Promised != nil && o.Meta.Isolation == "" {
		o.Meta.Isolation = o.Promised.String()
	}
	if o.Seed != 0 {
		note := fmt.Sprintf("seed %d", o.Seed)
		if o.Meta.Note != "" {
			note = o.Meta.Note + "; " + note
		}
		o.Meta.Note = note
	}
	r := &Recorder{o: o, clock: o.Clock, sessions: map[*Session]struct{}{}, names: map[string]uint32{}}
	if r.clock == nil {
		epoch := time.Now()
		base := epoch.UnixNano()
		r.clock = func() int64 { return base + int64(time.Since(epoch)) }
	}
	return r
}

// Path returns the file of Create or the folder of CreateParts, or "".
func (r *Recorder) Path() string { return r.path }

// Seed returns the seed in the options.
func (r *Recorder) Seed() uint64 { return r.o.Seed }

// Stats counts the transactions that have ended.
func (r *Recorder) Stats() Stats {
	return Stats{Committed: r.n[history.Committed].Load(), Aborted: r.n[history.Aborted].Load(),
		Unknown: r.n[history.Unknown].Load(), Ops: r.ops.Load()}
}

// Err returns the error of the first operation that could not be recorded, or nil.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// fail stores an error, if it is the first, and returns it.
func (r *Recorder) fail(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	r.err = cmp.Or(r.err, err)
	r.mu.Unlock()
	if r.o.OnError != nil {
		r.o.OnError(err)
	}
	return err
}

// Initial sets the value that a key had before all transactions. Call it before a transaction reads the key.
func (r *Recorder) Initial(key, v any) error { return r.there(key, v, true) }

// Found is Initial for wrappers, which remember themselves for which keys they called it, so that this needs no memory.
func (r *Recorder) Found(key, v any) error { return r.there(key, v, false) }

func (r *Recorder) there(key, v any, remember bool) error {
	o := op{kind: history.Write, start: history.NoTime, end: history.NoTime}
	var err error
	if o.key, err = r.key(key); err == nil {
		o.val, err = r.value(v)
	}
	if err != nil {
		return r.fail(fmt.Errorf("record: initial value of %s: %w", show(key), err))
	}
	if r.intents {
		b := appendOps([]byte(`{"init":true,"ops":[`), []op{o})
		if err := r.stream.Append(append(b, "]}\n"...), false); err != nil {
			return r.fail(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed && !r.intents {
		return ErrClosed
	}
	if remember {
		slice.MakeMap(&r.before)
		r.before[o.key] = told{v, o.val}
	}
	if r.intents {
		return nil
	}
	streams := r.stream != nil || r.parts != nil
	if streams && (r.begun || r.n[0].Load()+r.n[1].Load()+r.n[2].Load() > 0) {
		return r.early(o)
	}
	r.initial = append(r.initial, o)
	return nil
}

// early records an initial value in a stream that has begun already: as a write of a transaction that ended when the
// recording began. The caller must hold the lock.
func (r *Recorder) early(o op) error {
	if r.past == nil {
		r.past = &Session{r: r, id: r.last}
		r.last++
	}
	t := &Txn{s: &Session{r: r, id: r.past.id, line: make([]byte, 0, 256)}, name: "before the recording",
		ops: []op{o}, start: r.born.Load(), end: r.born.Load(), commit: history.NoTime, startTS: history.NoTime,
		commitTS: history.NoTime, past: true}
	if l := r.level.Load(); l > 0 { // else it alone would have none
		t.level = level.Level(l - 1).String()
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	return t.write(history.Committed)
}

// told is a value as passed to Initial, and as the history has it.
type told struct {
	v   any
	val value
}

// Before returns the value that Initial set for a key, and whether it equals v. ok is false if Initial set none.
func (r *Recorder) Before(key, v any) (initial any, same, ok bool) {
	k, err := r.key(key)
	val, err2 := r.value(v)
	if err != nil || err2 != nil {
		return nil, false, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.before[k]
	return t.v, t.val == val, ok
}

// Session adds a client session, whose transactions follow each other. Only one goroutine at a time may use it.
func (r *Recorder) Session() *Session { return r.SessionOn("") }

// SessionOn adds a session for a client of the named server.
func (r *Recorder) SessionOn(node string) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &Session{r: r, id: r.last, node: node}
	r.last++
	if !r.closed {
		r.sessions[s] = struct{}{}
	}
	return s
}

// History ends the recording and returns the history. No session may be in use; a transaction that has not ended gets
// an unknown outcome. It returns an error if an operation could not be recorded. Later calls return the same history.
// A recorder that streams has no history: read its file.
func (r *Recorder) History() (*history.History, error) {
	if r.stream != nil || r.parts != nil {
		return nil, errors.New("record: the history is streamed, not kept; read the output of Create, To or Send")
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.h != nil {
		return r.h, nil
	}
	if len(r.initial) > 0 {
		r.build(r.initial)
		h := history.NewTxnHead()
		h.HasID, h.Init = true, true
		r.b.EndTxn(h)
	}
	h, err := r.b.Build()
	if err != nil {
		return nil, err
	}
	r.h, r.b, r.names = h, nil, nil
	return h, nil
}

// Close ends the recording and completes it: the file is complete, or all lines are posted. It returns the error of
// the first operation that could not be recorded. Transactions that have not ended get an unknown outcome.
func (r *Recorder) Close() error {
	r.mu.Lock()
	was := r.closed
	r.mu.Unlock()
	err := r.end()
	switch {
	case r.parts != nil:
		r.writeInitial()
		return errors.Join(err, r.parts.Close())
	case r.stream == nil || was:
		return err
	}
	r.writeInitial()
	if r.intents {
		err = errors.Join(err, r.stream.Append([]byte(completeLine), false))
	}
	return errors.Join(err, r.stream.Close())
}

// completeLine is the last line of a complete recording.
const completeLine = `{"complete":true}` + "\n"

func (r *Recorder) end() error {
	r.mu.Lock()
	var open []*Txn
	for s := range r.sessions {
		if s.txn != nil {
			open = append(open, s.txn)
		}
	}
	clear(r.sessions)
	r.mu.Unlock()
	for _, t := range open {
		_ = t.Unknown() // what goes wrong is kept
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.err
}

// writeInitial writes the initial values before all lines, or as the part before all others, once.
func (r *Recorder) writeInitial() {
	r.first.Do(func() {
		r.mu.Lock()
		initial := r.initial
		r.initial, r.begun = nil, true
		r.mu.Unlock()
		b := append(appendOps([]byte(`{"id":0,"init":true,"ops":[`), initial), "]}\n"...)
		switch {
		case len(initial) == 0:
		case r.parts != nil:
			r.fail(r.parts.First(b, int64(len(initial))))
		default:
			r.fail(r.stream.Append(b, false))
		}
	})
}

// Fail reports that something could not be recorded, so that Err, and History or Close, return an error. It is for
// wrappers that record. It returns the error.
func (r *Recorder) Fail(err error) error { return r.fail(fmt.Errorf("record: %w", err)) }
