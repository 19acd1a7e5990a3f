package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"isovet/history/format/logline"
)

// OtherStreamError says that a source that begins anew does not have the lines that the log has.
type OtherStreamError struct {
	Dir   string
	Place int64 // of the first line that is another, from 0
}

func (e *OtherStreamError) Error() string {
	return fmt.Sprintf("-: line %d differs from the one in %s: this is not the stream that the folder began with; "+
		"expected that stream from its beginning, only its new lines through a pipe (cat FILE | isovet watch), or "+
		"another --state folder", e.Place+1, e.Dir)
}

// beginning is a source that begins anew, so that the lines of the log come once more at their places.
type beginning interface{ again() bool }

func (p *pipe) again() bool { return p.fresh }

// sameLine compares a line that is skipped with the one that the log has in its place, as long as the log is kept.
// Another one is an error: what is skipped must have been judged.
func (w *watcher) sameLine(src Source, l Line) error {
	if x, is := src.(beginning); !is || !x.again() {
		return nil
	}
	if w.writing.was == nil {
		w.writing.was = &logLines{dir: w.cfg.Dir}
	}
	text, err := w.writing.was.at(l.Place)
	if err != nil || text == nil {
		return err
	}
	b := newBatch()
	b.reset(0)
	b.add(l) // as the log writes it
	if !bytes.Equal(b.Text(0), text) {
		return &OtherStreamError{w.cfg.Dir, l.Place}
	}
	return nil
}

// logLines reads the lines of a log again, by places that increase.
type logLines struct {
	dir   string
	left  []segmentFile
	began bool
	in    io.ReadCloser
	r     *bufio.Reader
	place int64 // of text
	text  []byte
}

// at is the line at a place; nil: there is none that is kept.
func (x *logLines) at(place int64) ([]byte, error) {
	for x.text == nil || x.place < place {
		if more, err := x.next(); err != nil || !more {
			return nil, err
		}
	}
	if x.place != place {
		return nil, nil
	}
	return x.text, nil
}

func (x *logLines) next() (more bool, err error) {
	if !x.began {
		x.began = true
		if x.left, err = segments(x.dir); err != nil {
			return false, err
		}
	}
	for {
		if x.in == nil {
			if len(x.left) == 0 {
				return false, nil
			}
			x.in, err = openSegment(x.dir, x.left[0].n, 0)
			x.left = x.left[1:]
			if errors.Is(err, fs.ErrNotExist) {
				continue // deleted since
			}
			if err != nil {
				return false, err
			}
			x.r = bufio.NewReaderSize(x.in, 1<<18)
		}
		line, err := x.r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			err = x.in.Close()
			if x.in = nil; err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		var cut logline.Reader // of lines that have been read before
		if place, of, text, err := cut.Cut(line[:len(line)-1]); err == nil && len(of) == 0 && !isOwn(text) {
			x.place, x.text = place, text
			return true, nil
		}
	}
}

// close ends reading.
func (x *logLines) close() error {
	if x == nil || x.in == nil {
		return nil
	}
	return x.in.Close()
}
