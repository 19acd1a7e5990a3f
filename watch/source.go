package watch

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"isovet/internal/safego"
)

// Line is a transaction and its place in the source. Places increase within each stream. A line whose place is not
// above that of an earlier line of its stream is a duplicate, and is skipped.
type Line struct {
	Place int64
	Text  []byte
	// Of names the stream, such as a partition or a producer, without white space; "" if the source has only one. If a
	// name begins with @, the stream replaces all others with such names, which are never sent again.
	Of string
}

// Source delivers lines. Next waits for at least one line and returns those that are ready, at most most; io.EOF ends
// the stream. Lines are valid until the next call of Next. Done says that all lines returned by Next are safe in the
// log.
type Source interface {
	Next(ctx context.Context, most int) ([]Line, error)
	Done() error
	Close() error
}

// Identified is a Source that knows which stream it reads, so that another one of its name is not taken for it.
// Identity may be "".
type Identified interface{ Identity() string }

// Losses is part of a Source that may lose lines.
type Losses struct{ some bool }

// Lose says that lines before those that Next returns next are lost.
func (l *Losses) Lose() { l.some = true }

// Lost reports whether there was a loss since the last call.
func (l *Losses) Lost() bool {
	was := l.some
	l.some = false
	return was
}

// pipe reads lines as they arrive. A pipe cannot be read again, so that places continue the numbers of the lines in
// the log.
//
// Next returns lines in the buffer into which they were read, while the reading goroutine fills another buffer. If a
// buffer is taken during a read into it, the bytes of that read are copied to the next one.
type pipe struct {
	place int64 // of the line before
	fresh bool  // the input repeats the stream from its beginning
	// The unread input is text[at:]. The first pipeHead bytes of a buffer are free for a line that began in the buffer
	// before.
	text []byte
	at   int
	mu   sync.Mutex
	got  []byte        // the buffer being filled; nil: it was taken
	free []byte        // an unused buffer
	size int           // of a new buffer: it doubles up to pipeRoom when one is full
	err  error         // of reading
	news chan struct{} // signals content of got, or err
	room chan struct{} // signals that got was taken
	stop chan struct{}
	// Close does not wait for this goroutine, since a read of a pipe cannot be interrupted.
	reading safego.Group
}

// pipeRoom is the largest size of the read-ahead. A line across two buffers is copied only once if it has at most
// pipeHead bytes in the first.
const (
	pipeRoom = 2 << 20
	pipeHead = 64 << 10
)

// Pipe returns a source of the lines of r, such as standard input. after is the place of the last line in the log. It
// is -1 if r repeats the stream from its beginning: the watch then skips the lines in the log, and ends with an
// *OtherStreamError if they differ. Lines that arrive while a batch is handled form the next batch.
func Pipe(r io.Reader, after int64) Source {
	p := &pipe{place: after, fresh: after < 0, size: pipeHead, news: make(chan struct{}, 1),
		room: make(chan struct{}, 1), stop: make(chan struct{})}
	p.reading.Go(func() { p.read(r) })
	return p
}

// signal wakes the goroutine that waits on c, now or at its next wait.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (p *pipe) read(r io.Reader) {
	for {
		p.mu.Lock()
		if p.got == nil {
			p.got = p.buffer()
		}
		to := p.got[len(p.got):cap(p.got)]
		p.mu.Unlock()
		n, err := r.Read(to)
		p.mu.Lock()
		if p.got == nil {
			p.got = append(p.buffer(), to[:n]...)
		} else if p.got = p.got[:len(p.got)+n]; len(p.got) == cap(p.got) {
			p.size = min(2*p.size, pipeRoom)
		}
		p.err = err
		p.mu.Unlock()
		signal(p.news)
		if err != nil {
			return
		}
		for p.full() {
			select {
			case <-p.room:
			case <-p.stop:
				return
			}
		}
		select {
		case <-p.stop:
			return
		default:
		}
	}
}

func (p *pipe) buffer() (b []byte) {
	if b, p.free = p.free, nil; b == nil {
		b = make([]byte, pipeHead, pipeHead+p.size)
	}
	return b[:pipeHead]
}

func (p *pipe) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got != nil && len(p.got) == cap(p.got)
}

func (p *pipe) Done() error  { return nil }
func (p *pipe) Close() error { close(p.stop); return nil }

// Next waits for a line, and returns it with the following lines that are complete.
func (p *pipe) Next(ctx context.Context, most int) (out []Line, err error) {
	for {
		if out = p.lines(most); len(out) > 0 {
			return out, nil
		}
		if done, err := p.more(); err != nil {
			return nil, err
		} else if done {
			continue
		}
		select {
		case <-p.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *pipe) lines(most int) (out []Line) {
	for len(out) < most {
		n := bytes.IndexByte(p.text[p.at:], '\n')
		if n < 0 {
			break
		}
		p.place++
		if n > 0 {
			out = append(out, Line{Place: p.place, Text: p.text[p.at : p.at+n]})
		}
		p.at += n + 1
	}
	return out
}

// more fetches the buffer that was read, or returns false if nothing new was read. It returns an error only after all
// lines before it.
func (p *pipe) more() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.got) <= pipeHead {
		if p.err == nil {
			return false, nil
		}
		if p.at < len(p.text) { // a last line without end
			p.text = append(p.text, '\n')
			return true, nil
		}
		return false, p.err
	}
	got, rest := p.got, p.text[p.at:]
	p.got = nil
	if len(rest) <= pipeHead {
		p.at = pipeHead - copy(got[pipeHead-len(rest):], rest)
		p.text, p.free = got, p.text
	} else { // a line of many buffers
		p.text = append(p.text[:copy(p.text, rest)], got[pipeHead:]...)
		p.at, p.free = 0, got
	}
	if cap(p.free) != pipeHead+p.size {
		p.free = nil // there is none, it was small, or it has a long line
	}
	signal(p.room)
	return true, nil
}

// Trouble reports an error of a source at once, then each minute while it lasts, and its end. Several goroutines may
// use it.
type Trouble struct {
	Log   *slog.Logger
	mu    sync.Mutex
	err   error
	text  string // reported last
	told  time.Time
	since time.Time
	wait  time.Duration
}

// Is notes that the source fails.
func (t *Trouble) Is(err error, what ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.err == nil {
		t.since = now
	}
	t.err = err
	if text := err.Error(); text != t.text || now.Sub(t.told) >= time.Minute {
		t.text, t.told = text, now
		t.Log.Warn("the source fails; trying again", append(what, "error", err, "since", t.since.Round(time.Second))...)
	}
}

// Over notes that the source works.
func (t *Trouble) Over(what ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil && !t.told.Before(t.since) {
		t.Log.Info("the source works again", append(what, "after", time.Since(t.since).Round(time.Millisecond))...)
	}
	t.err, t.wait = nil, 0
}

// Why returns the error while the source fails.
func (t *Trouble) Why() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// pause waits before the next try. Each wait is longer, up to five seconds.
func (t *Trouble) pause(ctx context.Context) error {
	t.wait = min(max(2*t.wait, 50*time.Millisecond), 5*time.Second)
	return Sleep(ctx, t.wait)
}

// Sleep waits, or returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// loud returns the log or, if it is nil, one that discards everything.
func loud(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
