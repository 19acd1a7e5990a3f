package watch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
)

// ErrDropped ends a watch of a Queue behind which lines were dropped: what came before them is judged as far as it is
// final without them.
var ErrDropped = errors.New("lines were dropped: the judge did not keep up")

// Queue is a source of lines that the process itself makes, and who makes them never waits: where there is no room,
// lines are dropped until the watch has ended and another one begins in the midst of the stream.
type Queue struct {
	room int
	// out is what the watch takes from, beyond at; only Next uses it.
	out   []byte
	at    int
	place int64

	mu      sync.Mutex
	in      []byte // lines that have come since out was filled
	dropped int64
	full    bool // a line has been dropped, since Anew
	ended   bool
	news    chan struct{}
}

// NewQueue returns a queue for so many bytes of lines, and as many that are being taken.
func NewQueue(room int) *Queue { return &Queue{room: room, news: make(chan struct{}, 1)} }

// Add adds a line with its end, or drops it. It keeps nothing of it.
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

// Anew begins a stream, with a header, behind lines that were dropped, and returns how many have been so far. No watch
// takes from the queue meanwhile.
func (q *Queue) Anew(header []byte) (dropped int64) {
	q.out, q.at, q.place = nil, 0, 0
	q.mu.Lock()
	defer q.mu.Unlock()
	q.in, q.full = append(q.in[:0], header...), false
	return q.dropped
}

// End says that nothing more comes.
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

// fill takes what has come.
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

// Done is nothing to a queue: what is not safe when the process ends is lost with it.
func (q *Queue) Done() error { return nil }

// Close is nothing either.
func (q *Queue) Close() error { return nil }
