package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"strconv"
)

// segmentBytes is where a segment ends and the next begins.
var segmentBytes int64 = 64 << 20

// Log is an append-only log of lines with their places in the source, in segments of a folder. A line is
// "place<TAB>line\n", or "place name<TAB>line\n" of a source that has several streams. What stands there whole has been
// written whole: a torn end, of a write that was cut off, is dropped when the log is opened. One process at a time, and
// one goroutine, but for Line.
type Log struct {
	dir    string
	f      *os.File
	at     Position // where the next line begins
	places Places
	dirty  bool
	finder finder
}

// Position is a place in the log: where a line begins, or ends.
type Position struct {
	Segment int   `json:"segment"` // its number
	Offset  int64 `json:"offset"`  // in it
	Lines   int64 `json:"lines"`   // before, but for our own
	Bytes   int64 `json:"bytes"`   // of all segments before, and of this one
	Ended   bool  `json:"ended"`   // the last line says so
}

// Places say how far each stream of a source has come: the place of its last line in the log. A source that has but one
// calls it "".
type Places map[string]int64

// Last is the place of the last line of the stream without name, -1 where there is none.
func (p Places) Last() int64 { return p.Of("") }

// Of is the place of the last line of a stream, -1 where there is none.
func (p Places) Of(name string) int64 {
	if at, ok := p[name]; ok {
		return at
	}
	return -1
}

// controlFrom begins a segment: the number of its first line.
const controlFrom = "!from "

// open opens the log of a folder behind a position, of which the zero value is the beginning, and calls line with each
// line that is there, in order, and own with those of our own. What they are given is valid during the call, and Log.at
// is behind it.
func (l *Log) open(from Position, places Places, line func(place int64, of string, line []byte) error,
	own func(text string) error) error {
	l.at, l.places = from, maps.Clone(places)
	if l.places == nil {
		l.places = Places{}
	}
	if from.Segment == 0 {
		l.at.Segment = 1
	}
	for {
		l.finder.begin(l.at)
		torn, err := l.replay(line, own)
		if errors.Is(err, fs.ErrNotExist) {
			err = l.missing(from)
			torn = false
		}
		if err != nil {
			return err
		}
		if !there(l.dir, l.at.Segment+1) {
			break
		}
		if torn {
			return fmt.Errorf("%s: damaged in its midst at byte %d; expected whole lines in all segments but the last",
				segmentName(l.dir, l.at.Segment), l.at.Offset)
		}
		l.at.Segment, l.at.Offset = l.at.Segment+1, 0
	}
	if there(l.dir, l.at.Segment) && !writable(l.dir, l.at.Segment) { // it is compressed: a new one begins
		l.at.Segment, l.at.Offset = l.at.Segment+1, 0
		l.finder.begin(l.at)
	}
	file, err := os.OpenFile(segmentName(l.dir, l.at.Segment), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err = file.Truncate(l.at.Offset); err == nil {
		_, err = file.Seek(l.at.Offset, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.f = file
	return syncDir(l.dir)
}

// there reports whether a segment is, and writable whether it can be written to.
func there(dir string, n int) bool {
	_, err := os.Stat(segmentName(dir, n) + compressed)
	return err == nil || writable(dir, n)
}

func writable(dir string, n int) bool {
	_, err := os.Stat(segmentName(dir, n))
	return err == nil
}

// missing is what is wrong where the segment that comes first is not there; nil: the log is empty.
func (l *Log) missing(from Position) error {
	if from.Segment > 0 {
		return fmt.Errorf("%s: it is missing, and the checkpoint goes on in it; expected the folder as it was left",
			segmentName(l.dir, from.Segment))
	}
	list, err := segments(l.dir)
	if err == nil && len(list) > 0 {
		err = fmt.Errorf("%s: the log begins in its midst, what is before has been deleted, and there is no "+
			"checkpoint that can be read; expected one of both, or another --state folder", list[0].path(l.dir))
	}
	return err
}

// replay reads the segment at Log.at from there on. torn: its end is no whole line.
func (l *Log) replay(line func(place int64, of string, line []byte) error, own func(text string) error) (torn bool,
	err error) {
	path := segmentName(l.dir, l.at.Segment)
	if st, err := os.Stat(path); err == nil && st.Size() < l.at.Offset {
		return false, fmt.Errorf("%s: it ends at byte %d, and the checkpoint goes on at %d; expected the folder as it "+
			"was left", path, st.Size(), l.at.Offset)
	}
	in, err := openSegment(l.dir, l.at.Segment, l.at.Offset)
	if err != nil {
		return false, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<20)
	var long []byte
	name := ""
	for {
		text, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(long) > 0 {
			long = append(long, text...)
			if err == nil {
				text = long
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF:
			return len(text)+len(long) > 0, nil
		case err != nil:
			return false, err
		}
		long = long[:0]
		place, of, rest, ok := cutPlace(text[:len(text)-1])
		if !ok {
			return false, fmt.Errorf("%s: byte %d: %.40q; expected a place and a line", path, l.at.Offset, text)
		}
		start := l.at.Offset
		l.at.Offset += int64(len(text))
		l.at.Bytes += int64(len(text))
		if isOwn(rest) {
			l.at.Ended = string(rest) == controlEnd
			if !bytes.HasPrefix(rest, []byte(controlFrom)) {
				err = own(string(rest))
			}
		} else {
			if string(of) != name {
				name = string(of)
			}
			l.places[name] = place
			l.note(start)
			err = line(place, name, rest)
		}
		if err != nil {
			return false, err
		}
	}
}

func isOwn(text []byte) bool { return len(text) > 0 && text[0] == '!' }

// cutPlace takes a line of the log apart.
func cutPlace(line []byte) (place int64, of, text []byte, ok bool) {
	at := bytes.IndexByte(line, '\t')
	head := line[:max(at, 0)]
	if i := bytes.IndexByte(head, ' '); i >= 0 {
		head, of = head[:i], head[i+1:]
	}
	place, err := strconv.ParseInt(string(head), 10, 64)
	return place, of, line[at+1:], at >= 0 && err == nil
}

// wrote counts what has been written.
func (l *Log) wrote(n int) {
	l.at.Offset += int64(n)
	l.at.Bytes += int64(n)
	l.dirty = true
}

// control adds a line of our own.
func (l *Log) control(text string) error {
	n, err := fmt.Fprintf(l.f, "%d\t%s\n", max(l.places.Last(), 0), text)
	l.wrote(n)
	l.at.Ended = text == controlEnd
	return err
}

// Append adds the lines of a batch, which are safe after the next Sync.
func (l *Log) Append(b *Batch) error {
	if len(b.Lines) == 0 {
		return nil
	}
	if l.at.Offset >= segmentBytes {
		if err := l.next(); err != nil {
			return err
		}
	}
	start, at := l.at.Offset, int64(0)
	n, err := l.f.Write(b.logged())
	l.wrote(n)
	if err != nil {
		return err
	}
	for i := range b.Lines {
		l.note(start + at)
		at = int64(b.Lines[i].hi) + 1
	}
	b.moves(l.places)
	return nil
}

// note counts a line that begins at a byte of the segment.
func (l *Log) note(at int64) {
	l.finder.note(at)
	l.at.Lines++
	l.at.Ended = false
}

func (l *Log) next() error {
	if err := l.Sync(); err != nil {
		return err
	}
	if err := l.f.Close(); err != nil {
		return err
	}
	f, err := os.OpenFile(segmentName(l.dir, l.at.Segment+1), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	l.f, l.at.Segment, l.at.Offset = f, l.at.Segment+1, 0
	l.finder.begin(l.at)
	if err := syncDir(l.dir); err != nil {
		return err
	}
	ended := l.at.Ended
	err = l.control(controlFrom + strconv.FormatInt(l.at.Lines, 10))
	l.at.Ended = ended
	return err
}

// Sync makes everything appended safe.
func (l *Log) Sync() error {
	if !l.dirty {
		return nil
	}
	l.dirty = false
	return l.f.Sync()
}

// Line reads a line that is written again, by its number, our own not counted. Errors: ErrNotKept. Cost: a read of up
// to indexEvery lines, in segments of before the last start once of all of one. It may be called by another goroutine,
// always the same.
func (l *Log) Line(n int64) ([]byte, error) { return l.finder.line(l.dir, n) }

// Close syncs and closes.
func (l *Log) Close() error { return errors.Join(l.Sync(), l.f.Close()) }

// syncDir makes a new file's name safe, where the system can.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
