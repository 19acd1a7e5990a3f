package record

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"isovet/history"
	"isovet/level"
)

// Options of a recorder. The zero value is good.
type Options struct {
	// Meta becomes the history's header: free text for people. Meta.Lists says that all keys are append-only lists.
	Meta history.Meta
	// Promised is what the database is asked for, for the header, where Meta.Isolation is empty; nil: not said.
	Promised *level.Level
	// Seed is what the program's random choices come from; it stands in the header's note, and isovettest names it. 0:
	// none.
	Seed uint64
	// Aborted reports whether an error of a commit says for sure that the transaction had no effect, as PostgreSQL's
	// serialization failure does. nil: no error does, and a commit that fails is of unknown outcome.
	Aborted func(error) bool
	// OpTimes has every operation carry an interval: from the transaction's last call to this one. Only for programs
	// that record each operation right behind its answer; checker leopard needs it.
	OpTimes bool
	// MaxValue is the number of bytes from which a text is replaced by its SHA-256; 0: 1024.
	MaxValue int
	// OnError gets, at the call, the error of an operation that cannot be recorded; it must be safe for concurrent
	// use.
	OnError func(error)
	// Clock returns nanoseconds that never go back; nil: the monotonic clock.
	Clock func() int64
	// Tee, where the recording is a stream or has parts, is called with the line of each transaction that has ended,
	// from any goroutine, without the values of before; it must not keep the line.
	Tee func(line []byte)
	// Client is Send's; nil: http.DefaultClient.
	Client *http.Client
	// Token is what Send shows a watch that has --token-file; "": none.
	Token string
	// Patience is how long Send tries to reach the watch again; 0: 30 s.
	Patience time.Duration
}

// Stats counts what has been recorded.
type Stats struct{ Committed, Aborted, Unknown, Ops int64 }

// Recorder records transactions. It is safe for concurrent use.
type Recorder struct {
	o     Options
	clock func() int64
	path  string
	ids   atomic.Int64
	n     [3]atomic.Int64 // transactions by status
	ops   atomic.Int64

	stream  *Stream // nil: in memory, or in parts
	parts   *Parts
	first   sync.Once // the part with the initial values
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
	begun    bool           // the part with the initial values has been written
	h        *history.History
	err      error // the first
	closed   bool
}

// ErrClosed is what calls return behind Close or History.
var ErrClosed = errors.New("record: the recorder is closed")

// New returns a recorder that keeps the history in memory; see History.
func New(o Options) *Recorder {
	r := newRecorder(o)
	r.b = history.NewBuilder()
	r.b.Meta = r.o.Meta
	return r
}

// Create returns a recorder that streams to a new file; Close completes it. If the program is killed before that, the
// file holds what was recorded up to 100 ms before, and isovet check reads it. A file of that name is overwritten.
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
// completes it. isovet check reads the folder at any time, also if the program is killed. Values that were there before
// (Recorder.Initial) are told before the first transaction ends.
func CreateParts(dir string, o Options, rotate Rotation) (*Recorder, error) {
	r := newRecorder(o)
	r.path = dir
	var err error
	if r.parts, err = NewParts(dir, r.o.Meta, rotate); err != nil {
		return nil, err
	}
	return r, nil
}

// Parts is where a recorder that CreateParts made writes; nil: another.
func (r *Recorder) Parts() *Parts { return r.parts }

// To returns a recorder that streams finished transactions to w, as JSON lines behind a header. Close does not close w.
func To(w io.Writer, o Options) *Recorder {
	r := newRecorder(o)
	r.stream = NewStream(struct{ io.Writer }{w})
	r.fail(r.stream.Append(Header(nil, r.o.Meta, false), false))
	return r
}

// Send returns a recorder that posts finished transactions to an isovet watch --source at url, in batches, each once
// however often it has to be sent. It must be the only one that does. Close posts the rest.
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

// Path is the file of a recorder that Create made, or the folder of CreateParts'; "": another.
func (r *Recorder) Path() string { return r.path }

// Seed is the one of the options.
func (r *Recorder) Seed() uint64 { return r.o.Seed }

// Stats counts the transactions that have ended.
func (r *Recorder) Stats() Stats {
	return Stats{Committed: r.n[history.Committed].Load(), Aborted: r.n[history.Aborted].Load(),
		Unknown: r.n[history.Unknown].Load(), Ops: r.ops.Load()}
}

// Err is the first thing that could not be recorded.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// fail notes an error and returns it.
func (r *Recorder) fail(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	if r.o.OnError != nil {
		r.o.OnError(err)
	}
	return err
}

// Initial says that a key held a value before all transactions. Call it before a transaction reads the key.
func (r *Recorder) Initial(key, v any) error { return r.there(key, v, true) }

// Found is Initial for wrappers, which remember by themselves what they have told: memory does not grow by it.
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
		if r.before == nil {
			r.before = map[value]told{}
		}
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

// early records a value that was there before all transactions, in a stream that has begun: as written by a transaction
// that ended when the recording began. The caller has the lock.
func (r *Recorder) early(o op) error {
	if r.past == nil {
		r.past = &Session{r: r, id: r.last}
		r.last++
	}
	t := &Txn{s: &Session{r: r, id: r.past.id}, name: "before the recording", ops: []op{o}, start: r.born.Load(),
		end: r.born.Load(), commit: history.NoTime, startTS: history.NoTime, commitTS: history.NoTime, past: true}
	if l := r.level.Load(); l > 0 { // else it alone would have none
		t.level = level.Level(l - 1).String()
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	return t.write(history.Committed)
}

// told is a value as Initial was told it, and as the history has it.
type told struct {
	v   any
	val value
}

// Before is what Initial said of a key, and whether that is v; false: nothing.
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

// Session adds a client session: transactions that follow each other. One goroutine at a time uses it.
func (r *Recorder) Session() *Session { return r.SessionOn("") }

// SessionOn is Session for a client of the server of that name.
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

// History ends the recording and returns the history. No session may be in use: a transaction that has not ended is
// recorded as of unknown outcome. An operation that could not be recorded is an error here too. Later calls return the
// same history. A recorder that streams has none: read what it has written.
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

// Close ends the recording and makes it safe: the file is complete, or all is posted. It returns the first thing that
// could not be recorded. Transactions that have not ended are recorded as of unknown outcome.
func (r *Recorder) Close() error {
	r.mu.Lock()
	was := r.closed
	r.mu.Unlock()
	err := r.end()
	switch {
	case r.parts != nil:
		r.firstPart()
		return errors.Join(err, r.parts.Close())
	case r.stream == nil || was:
		return err
	}
	r.flushInitial()
	if r.intents {
		err = errors.Join(err, r.stream.Append([]byte(completeLine), false))
	}
	return errors.Join(err, r.stream.Close())
}

// completeLine is a recording's last.
const completeLine = `{"complete":true}` + "\n"

// end closes the sessions.
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

// flushInitial streams the initial values, once.
func (r *Recorder) flushInitial() {
	r.mu.Lock()
	initial := r.initial
	r.initial = nil
	r.mu.Unlock()
	if r.stream == nil || len(initial) == 0 {
		return
	}
	b := appendOps([]byte(`{"id":0,"init":true,"ops":[`), initial)
	r.fail(r.stream.Append(append(b, "]}\n"...), false))
}

// firstPart writes the initial values as the part before all others, once.
func (r *Recorder) firstPart() {
	r.first.Do(func() {
		r.mu.Lock()
		initial := r.initial
		r.initial, r.begun = nil, true
		r.mu.Unlock()
		if len(initial) > 0 {
			b := appendOps([]byte(`{"id":0,"init":true,"ops":[`), initial)
			r.fail(r.parts.First(append(b, "]}\n"...), int64(len(initial))))
		}
	})
}

// Fail says that something could not be recorded: Err, and History or Close, say so too. It is for wrappers that record
// by themselves. It returns the error.
func (r *Recorder) Fail(err error) error { return r.fail(fmt.Errorf("record: %w", err)) }
