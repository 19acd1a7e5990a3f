package record

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// flushEvery bounds how long a line stays in memory if nobody waits for it.
	flushEvery = 100 * time.Millisecond
	// syncEvery is the number of flushes between two syncs of a file.
	syncEvery = 4
	// flushSize is the usual size of a write. If more than maxBuffer bytes are waiting, Append waits.
	flushSize = 1 << 16
	maxBuffer = 1 << 24
)

// Stream writes lines one after the other, from any goroutine, in pieces, at most 100 ms after the first line of a
// piece. If the program is killed, only the end is missing: a line is written only if all lines before it are.
type Stream struct {
	w io.Writer

	mu    sync.Mutex
	ready sync.Cond // busy or syncs has changed, or buf become shorter
	buf   []byte
	spare []byte
	busy  bool // somebody writes
	syncs bool // a sync is under way, for which no write waits
	armed bool // the timer runs
	dirty bool // written and not synced
	n     int  // flushes by the timer
	done  bool
	err   error // the first; nothing is written behind it
	timer *time.Timer
}

// NewStream returns a stream to w. If w has Sync or Close, as files do, the stream calls them, Sync during writes too.
func NewStream(w io.Writer) *Stream {
	s := &Stream{w: w}
	s.ready.L = &s.mu
	s.timer = time.AfterFunc(time.Hour, s.tick)
	s.timer.Stop()
	return s
}

// Append adds complete lines. With now it passes them, and all earlier lines, to the writer. It returns the first
// error of all calls.
func (s *Stream) Append(lines []byte, now bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) > maxBuffer && s.err == nil && !s.done {
		s.ready.Wait()
	}
	if s.err == nil && s.done {
		return ErrClosed
	}
	if s.err != nil {
		return s.err
	}
	s.buf = append(s.buf, lines...)
	switch {
	case now:
		s.flush()
	case len(s.buf) >= flushSize && !s.busy:
		s.armed = true
		s.timer.Reset(0)
	case !s.armed:
		s.armed = true
		s.timer.Reset(flushEvery)
	}
	return s.err
}

func (s *Stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = false
	if s.done {
		return
	}
	s.flush()
	s.n++
	f, ok := s.w.(interface{ Sync() error })
	if !ok || !s.dirty || s.err != nil {
		return
	}
	if s.n%syncEvery != 0 || s.syncs {
		s.armed = true // what has been written is still to be synced
		s.timer.Reset(flushEvery)
		return
	}
	s.dirty = false
	s.syncs = true
	s.mu.Unlock()
	err := safely(f.Sync)
	s.mu.Lock()
	s.syncs = false
	s.err = errors.Join(s.err, err)
	s.ready.Broadcast()
}

// flush writes the waiting lines. The caller must hold the lock, which flush releases meanwhile.
func (s *Stream) flush() {
	for s.busy {
		s.ready.Wait()
	}
	if len(s.buf) == 0 || s.err != nil {
		return
	}
	b := s.buf
	s.buf = s.spare[:0]
	s.dirty = true
	s.occupy(func() error {
		_, err := s.w.Write(b)
		return err
	})
	s.spare = b
}

// occupy runs do without the lock. It never runs two at a time.
func (s *Stream) occupy(do func() error) {
	for s.busy {
		s.ready.Wait()
	}
	s.busy = true
	s.mu.Unlock()
	err := safely(do)
	s.mu.Lock()
	s.busy = false
	s.err = errors.Join(s.err, err)
	s.ready.Broadcast()
}

// safely turns a panic into an error: the writer is foreign code, and nothing would recover a panic in the timer's
// goroutine.
func safely(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("record: panic in a writer: %v", p)
		}
	}()
	return do()
}

// Close writes what is left, and syncs and closes the writer.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return s.err
	}
	s.flush()
	for s.busy || s.syncs {
		s.ready.Wait()
	}
	s.done = true
	s.timer.Stop()
	s.ready.Broadcast()
	err := s.err
	if f, ok := s.w.(interface{ Sync() error }); ok {
		err = errors.Join(err, f.Sync())
	}
	if f, ok := s.w.(io.Closer); ok {
		err = errors.Join(err, f.Close())
	}
	return err
}
