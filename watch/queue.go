package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// ErrDropped ends the watch of a Queue that dropped lines. Lines before the gap are judged as far as they are final
// without the rest.
var ErrDropped = errors.New("lines were dropped: the judge did not keep up")

// Queue is a source of lines that this process makes. Add never waits: if the queue is full, it drops lines until the
// watch has ended and another one begins in the middle of the stream.
type Queue struct {
	room int
	// out is the buffer that the watch reads, from at on. Only Next uses it.
	out   []byte
	at    int
	place int64

	mu      sync.Mutex
	in      []byte // lines since out was filled
	dropped int64
	full    bool // a line was dropped since Anew
	ended   bool
	news    chan struct{}
}

// NewQueue returns a queue for room bytes of waiting lines, and as many that are being read.
func NewQueue(room int) *Queue { return &Queue{room: room, news: make(chan struct{}, 1)} }

// Add copies a line with its end into the queue, or drops it.
func (q *Queue) Add(line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.full = q.full || len(q.in)+len(line) > q.room; q.full {
		q.dropped++
	} else {
		q.in = append(q.in, line...)
	}
	signal(q.news)
}

// Anew begins a new stream with a header after lines were dropped. It returns the number of lines dropped so far. No
// watch may read the queue meanwhile.
func (q *Queue) Anew(header []byte) (dropped int64) {
	q.out, q.at, q.place = nil, 0, 0
	q.mu.Lock()
	defer q.mu.Unlock()
	q.in, q.full = append(q.in[:0], header...), false
	return q.dropped
}

// End says that no more lines come.
func (q *Queue) End() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	signal(q.news)
}

// Next waits for lines, and takes them.
func (q *Queue) Next(ctx context.Context, most int) (lines []Line, err error) {
	for q.at == len(q.out) {
		if err := q.fill(); err != nil {
			return nil, err
		}
		if len(q.out) > 0 {
			break
		}
		select {
		case <-q.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for len(lines) < most && q.at < len(q.out) {
		n := bytes.IndexByte(q.out[q.at:], '\n')
		q.place++
		lines = append(lines, Line{Place: q.place, Text: q.out[q.at : q.at+n]})
		q.at += n + 1
	}
	return lines, nil
}

// fill moves the waiting lines to out.
func (q *Queue) fill() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out, q.in, q.at = q.in, q.out[:0], 0
	switch {
	case len(q.out) > 0:
		return nil
	case q.full:
		return ErrDropped
	case q.ended:
		return io.EOF
	}
	return nil
}

// Done does nothing, because the queue is in memory.
func (q *Queue) Done() error { return nil }

// Close does nothing.
func (q *Queue) Close() error { return nil }
