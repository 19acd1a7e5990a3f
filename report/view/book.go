package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"isovet/certify"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/escape"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/predicates"
	"isovet/report"
)

// book is a history that the viewer has opened.
type book struct {
	id    int
	name  string
	paths []string
	read  format.Options
	cert  string // a certificate's file, or ""

	mu      sync.Mutex
	stage   string // what is being done; "" once all is there
	done    int64
	total   int64
	err     error
	axis    *axis // nil until the history is there; never changed then
	about   *historyJSON
	answers []*answer
	job     *job // the last one that was begun

	truthsMu sync.Mutex         // of truths, which remember what they read
	truths   *predicates.Truths // of conditions; nil: none, or not asked for yet

	keys   atomic.Pointer[keys]
	group  safego.Group
	ctx    context.Context
	loaded chan struct{} // closed once the history is there, or cannot be had
}

// heldBook makes a book of a history that is in memory already.
func heldBook(ctx context.Context, id int, name string, h *history.History) *book {
	b := &book{id: id, name: name, ctx: ctx, loaded: make(chan struct{}), stage: "loading"}
	b.start(func() {
		b.has(h)
		b.index()
	})
	return b
}

// Fault is a panic of isovet while it opened a history.
type Fault struct{ Text string }

func (f *Fault) Error() string { return "this is a bug in isovet, please report it: " + f.Text }

// start calls f in a goroutine. It turns a panic into a Fault, which the page and the program report.
func (b *book) start(f func()) {
	b.group.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				b.mu.Lock()
				b.err, b.stage = &Fault{fmt.Sprintf("%v\n%s", r, debug.Stack())}, ""
				b.mu.Unlock()
				b.once()
			}
		}()
		f()
	})
}

// once closes the channel loaded unless it is closed.
func (b *book) once() {
	select {
	case <-b.loaded:
	default:
		b.mu.Lock()
		if b.axis == nil && b.err == nil {
			b.err = cmp.Or(context.Cause(b.ctx), context.Canceled)
		}
		b.mu.Unlock()
		close(b.loaded)
	}
}

func (b *book) doing(stage string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stage, b.done, b.total = stage, done, total
}

func (b *book) open() {
	h, err := b.load()
	if err == nil {
		b.has(h)
		err = b.certificate()
	}
	if err != nil {
		b.mu.Lock()
		b.err, b.stage = err, ""
		b.mu.Unlock()
		b.once()
		return
	}
	b.index()
}

func (b *book) load() (*history.History, error) {
	o := b.read
	o.Progress = func(done, total int64) { b.doing("loading", done, total) }
	h, err := split.ReadMapped(b.ctx, b.paths, o, os.TempDir())
	if err != nil && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	return h, err
}

// has stores the loaded history. From now on the page can show it.
func (b *book) has(h *history.History) {
	b.doing("ordering by time", 0, 0)
	x := newAxis(h)
	about := x.json()
	b.mu.Lock()
	b.axis, b.about = x, about
	b.mu.Unlock()
	if b.cert == "" {
		close(b.loaded)
	}
}

// index builds the table of keys.
func (b *book) index() {
	b.doing("examining the keys", 0, 100)
	k, err := newKeys(b.ctx, b.axis, func(done int) { b.doing("examining the keys", int64(done), 100) })
	if err == nil {
		b.keys.Store(k)
	}
	b.doing("", 0, 0)
}

// certificate reads and replays the certificate. Its claim becomes the first answer.
func (b *book) certificate() error {
	if b.cert == "" {
		return nil
	}
	b.doing("replaying the certificate", 0, 0)
	f, err := format.Open(b.cert)
	if err != nil {
		return err
	}
	defer f.Close()
	from, err := f.Reader()
	if err != nil {
		return err
	}
	r, err := check.Verify(b.ctx, from, b.axis.h, certify.Options{Stop: func() bool { return b.ctx.Err() != nil }})
	if in, is := errors.AsType[*history.InputError](err); is {
		in.File = b.cert
	}
	if r == nil {
		return err
	}
	a := newAnswer(b.name, r)
	a.Certificate = filepath.Base(b.cert)
	if err != nil {
		a.Refuted = err.Error()
	}
	b.add(a)
	b.once()
	return nil
}

// add keeps an answer and numbers it.
func (b *book) add(a *answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.N = len(b.answers) + 1
	b.answers = append(b.answers, a)
}

func (b *book) answer(n int) *answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n < 1 || n > len(b.answers) {
		return nil
	}
	return b.answers[n-1]
}

// stateJSON is the current state of a book.
type stateJSON struct {
	Name    string          `json:"name"`
	Stage   string          `json:"stage"` // "": all is there
	Done    int64           `json:"done"`
	Total   int64           `json:"total"`
	Error   string          `json:"error,omitempty"`
	History *historyJSON    `json:"history,omitempty"`
	Keys    bool            `json:"keys"` // the table of keys is there
	Job     *jobJSON        `json:"job,omitempty"`
	Answers []answerSummary `json:"answers"`
}

type historyJSON struct {
	evidence.Sizes
	Outcomes [3]int      `json:"outcomes"` // committed, aborted, unknown
	Axis     string      `json:"axis"`     // time, timestamps, places
	Label    string      `json:"label"`
	Span     int64       `json:"span"`
	Rows     int         `json:"rows"`
	Untimed  int         `json:"untimed,omitempty"`
	Meta     [][2]string `json:"meta"`
	Notes    []string    `json:"notes"`
}

func (b *book) state() stateJSON {
	b.mu.Lock()
	s := stateJSON{Name: escape.XML(b.name), Stage: b.stage, Done: b.done, Total: b.total,
		Keys: b.keys.Load() != nil, Answers: []answerSummary{}, History: b.about}
	j := b.job
	if b.err != nil {
		s.Error = escape.XML(b.err.Error())
	}
	s.Answers = append(s.Answers, slice.Map(b.answers, func(a *answer) answerSummary { return a.answerSummary })...)
	b.mu.Unlock()
	if j != nil {
		s.Job = j.state()
	}
	return s
}

func (x *axis) json() *historyJSON {
	h := x.h
	j := &historyJSON{Sizes: evidence.SizesOf(h), Axis: x.kind, Label: x.label, Span: x.span, Rows: len(x.rows),
		Untimed: x.untimed, Meta: [][2]string{}, Notes: []string{}}
	for t, s := range h.Txns.Status {
		if uint32(t) != h.Init && int(s) < len(j.Outcomes) {
			j.Outcomes[s]++
		}
	}
	for _, p := range report.MetaPairs(h) {
		j.Meta = append(j.Meta, [2]string{p.Name, escape.XML(p.Value)})
	}
	for _, n := range h.Notes {
		j.Notes = append(j.Notes, escape.XML(n.Text))
	}
	return j
}

// writersOf returns the writers of a version, in the order of the file.
func (b *book) writersOf(k, v uint32) (out []uint32) { return b.touching(k, v, true) }

// readersOf returns the readers of a version, in the order of the file.
func (b *book) readersOf(k, v uint32) (out []uint32) { return b.touching(k, v, false) }

// touching returns the writers or the readers of a version. Cost: linear in the key's transactions.
func (b *book) touching(k, v uint32, wrote bool) []uint32 {
	is := func(c touch) bool { return c.ver == v && c.wrote == wrote }
	return slice.Filter(b.keys.Load().of(k), func(t uint32) bool {
		return slices.ContainsFunc(touches(b.axis.h, t, k), is)
	})
}

// touch is an operation's access to a key.
type touch struct {
	op, ver uint32
	wrote   bool
	list    bool // ver is an index of Lists
}

// touches returns a transaction's accesses to a key.
func touches(h *history.History, t, k uint32) (out []touch) {
	for op, v := range h.EachOp(t) {
		switch h.Ops.Kind[op] {
		case history.Read, history.Write, history.Append:
			if h.VerKey[v] == k {
				out = append(out, touch{op: op, ver: v, wrote: h.Ops.Kind[op] != history.Read})
			}
		case history.ReadList:
			if h.Lists.Key[v] == k {
				out = append(out, touch{op: op, ver: v, list: true})
			}
		default:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				if was := h.Preds.Old[j]; was != history.None && h.VerKey[was] == k {
					out = append(out, touch{op: op, ver: was})
				}
				if now := h.Preds.New[j]; now != history.None && h.VerKey[now] == k {
					out = append(out, touch{op: op, ver: now, wrote: true})
				}
			}
		}
	}
	return out
}
