package watch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"isovet/internal/safego"
)

// Line is a transaction and its place in the source. Places increase.
type Line struct {
	Place int64
	Text  []byte
	N     int64 // its number in the log, from 0; sources leave it 0
}

// Source delivers lines. Next waits for at least one and returns what is there, up to most; io.EOF ends the stream.
// Done is called when all that Next has returned is safe.
type Source interface {
	Next(ctx context.Context, most int) ([]Line, error)
	Done() error
	Close() error
}

// pipe reads lines as they come; places are numbers of lines, which go on behind those that are in the log already: a
// pipe cannot be read again.
type pipe struct {
	lines chan Line
	err   error
	stop  chan struct{}
	// reading is not waited for: a read of a pipe cannot be broken off.
	reading safego.Group
}

// Pipe is a source of the lines of r, such as standard input. after is the place of the last line in the log; -1 if r
// begins at the beginning of the stream again: the log passes over the lines that it has.
func Pipe(r io.Reader, after int64) Source {
	p := &pipe{lines: make(chan Line, 1024), stop: make(chan struct{})}
	p.reading.Go(func() {
		defer close(p.lines)
		in := bufio.NewReaderSize(r, 1<<18)
		for place := after + 1; ; place++ {
			text, err := in.ReadBytes('\n')
			if len(text) > 0 && text[len(text)-1] == '\n' {
				text = text[:len(text)-1]
			}
			if len(text) > 0 {
				select {
				case p.lines <- Line{Place: place, Text: text}:
				case <-p.stop:
					return
				}
			}
			if err != nil {
				p.err = err
				return
			}
		}
	})
	return p
}

func (p *pipe) Done() error  { return nil }
func (p *pipe) Close() error { close(p.stop); return nil }

// Next waits for a line and takes those that are there too.
func (p *pipe) Next(ctx context.Context, most int) ([]Line, error) {
	var out []Line
	select {
	case l, ok := <-p.lines:
		if !ok {
			return nil, p.err
		}
		out = append(out, l)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for len(out) < most {
		select {
		case l, ok := <-p.lines:
			if !ok {
				return out, nil
			}
			out = append(out, l)
		default:
			return out, nil
		}
	}
	return out, nil
}

// file follows a growing file; the place of a line is the byte behind it.
type file struct {
	f    *os.File
	in   *bufio.Reader
	at   int64
	part []byte // of a line whose end is not written yet
	poll time.Duration
	ends bool
}

// File is a source of the lines of a file that grows, from the byte after on. once: it ends with the file, and does not
// wait for more.
func File(path string, after int64, once bool) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &file{f: f, at: max(after, 0), poll: 20 * time.Millisecond, ends: once}
	if _, err := f.Seek(s.at, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.in = bufio.NewReaderSize(f, 1<<18)
	return s, nil
}

func (s *file) Next(ctx context.Context, most int) ([]Line, error) {
	var out []Line
	for {
		text, err := s.in.ReadBytes('\n')
		s.part = append(s.part, text...)
		switch {
		case err == nil:
			s.at += int64(len(s.part))
			if line := s.part[:len(s.part)-1]; len(line) > 0 {
				out = append(out, Line{Place: s.at, Text: line})
			}
			s.part = nil
			if len(out) >= most {
				return out, nil
			}
		case err != io.EOF:
			return out, err
		case len(out) > 0:
			return out, nil
		case s.ends && len(s.part) > 0: // a last line without end
			s.at += int64(len(s.part))
			out = append(out, Line{Place: s.at, Text: s.part})
			s.part = nil
			return out, nil
		case s.ends:
			return nil, io.EOF
		default:
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(s.poll):
			}
		}
	}
}

func (s *file) Done() error  { return nil }
func (s *file) Close() error { return s.f.Close() }
