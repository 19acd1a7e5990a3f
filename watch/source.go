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

// Line is a transaction and its place in the source. Places increase, in each stream of the source: a line at the place
// of another of its stream, or before it, is there already, and is skipped.
type Line struct {
	Place int64
	Text  []byte
	// Of names the stream, such as a partition or a producer, without white space; "": the source has but one. A stream
	// whose name begins with @ follows all others of such names, which are not sent twice.
	Of string
}

// Source delivers lines. Next waits for at least one and returns what is there, up to most; io.EOF ends the stream. Its
// lines are valid until the next call. Done is called when all that Next has returned is safe.
type Source interface {
	Next(ctx context.Context, most int) ([]Line, error)
	Done() error
	Close() error
}

// pipe reads lines as they come; places are numbers of lines, which go on behind those that are in the log already: a
// pipe cannot be read again.
//
// Bytes lie where they were read to until their lines are taken: the reading goroutine fills one buffer while lines are
// taken from another. Where a buffer is taken while a read into it is under way, what that brings is copied to the
// next.
type pipe struct {
	place int64 // of the line before
	fresh bool  // it begins at the beginning of the stream again
	// lines are taken from text[at:]. pipeHead bytes of each buffer are for a line that began in the one before.
	text []byte
	at   int
	mu   sync.Mutex
	got  []byte        // being filled; nil: it has been taken
	free []byte        // a buffer that nobody needs
	err  error         // of reading
	news chan struct{} // there is something in got, or err
	room chan struct{} // got has been taken
	stop chan struct{}
	// reading is not waited for: a read of a pipe cannot be broken off.
	reading safego.Group
}

// pipeRoom is how much is read ahead, pipeHead how long a line that stands in two buffers may be to be copied but once.
const (
	pipeRoom = 2 << 20
	pipeHead = 64 << 10
)

// Pipe is a source of the lines of r, such as standard input. after is the place of the last line in the log; -1 if r
// begins at the beginning of the stream again: the log passes over the lines that it has, and the watch ends with an
// *OtherStreamError where they are others. What has come while a batch
// was under way is the next batch.
func Pipe(r io.Reader, after int64) Source {
	p := &pipe{place: after, fresh: after < 0, news: make(chan struct{}, 1), room: make(chan struct{}, 1),
		stop: make(chan struct{})}
	p.reading.Go(func() { p.read(r) })
	return p
}

// signal says something to who waits, or will.
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
			if p.got, p.free = p.free, nil; p.got == nil {
				p.got = make([]byte, 0, pipeHead+pipeRoom)
			}
			p.got = p.got[:pipeHead]
		}
		to := p.got[len(p.got):cap(p.got)]
		p.mu.Unlock()
		n, err := r.Read(to)
		p.mu.Lock()
		if p.got == nil {
			p.got = make([]byte, pipeHead, pipeHead+pipeRoom)
			if p.free != nil {
				p.got, p.free = p.free[:pipeHead], nil
			}
			p.got = append(p.got, to[:n]...)
		} else {
			p.got = p.got[:len(p.got)+n]
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

func (p *pipe) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got != nil && len(p.got) == cap(p.got)
}

func (p *pipe) Done() error  { return nil }
func (p *pipe) Close() error { close(p.stop); return nil }

// Next waits for a line and takes those that are there too.
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

// lines takes whole lines.
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

// more takes what has been read; false: there is nothing new. An error comes when all before it has been taken.
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
	if cap(p.free) != pipeHead+pipeRoom {
		p.free = nil // none, or of a long line
	}
	signal(p.room)
	return true, nil
}

// trouble says what is wrong with a source: once, again each minute while it lasts, and when it is over.
type trouble struct {
	log   *slog.Logger
	text  string // "": all is well
	since time.Time
	told  time.Time
	wait  time.Duration
}

// is notes an error.
func (t *trouble) is(err error, what ...any) {
	now := time.Now()
	if t.text == "" {
		t.since = now
	}
	if text := err.Error(); text != t.text || now.Sub(t.told) >= time.Minute {
		t.text, t.told = text, now
		t.log.Warn("the source fails; trying again", append(what, "error", err, "since", t.since.Round(time.Second))...)
	}
}

// over notes that it works.
func (t *trouble) over(what ...any) {
	if t.text != "" {
		t.log.Info("the source works again", append(what, "after", time.Since(t.since).Round(time.Millisecond))...)
	}
	t.text, t.wait = "", 0
}

// pause waits before the next try: longer each time, up to five seconds.
func (t *trouble) pause(ctx context.Context) error {
	t.wait = min(max(2*t.wait, 50*time.Millisecond), 5*time.Second)
	return sleep(ctx, t.wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// loud is a log that is there.
func loud(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
