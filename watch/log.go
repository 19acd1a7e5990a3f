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

	"isovet/history/format/logline"
	"isovet/internal/escape"
	"isovet/internal/slice"
)

// segmentBytes is the size at which the next segment begins.
var segmentBytes int64 = 64 << 20

// Log is an append-only log of lines with their places in the source and checksums, in segment files (package
// logline). When it is opened, an incomplete last write is dropped; damage before it is an error. One process may use
// it, and one goroutine, except for Line.
type Log struct {
	dir    string
	f      *os.File
	at     Position // begin of the next line
	places Places
	disk   disk
	finder finder
	judged Position // behind the lines that are being judged; the judging goroutine's
}

// Position is a place in the log: the begin or end of a line.
type Position struct {
	Segment int   `json:"segment"` // its number
	Offset  int64 `json:"offset"`  // in it
	Lines   int64 `json:"lines"`   // lines before it, without the log's own
	Bytes   int64 `json:"bytes"`   // of all segments before, and of this one
	Ended   bool  `json:"ended"`   // the last line says that the source ended
}

// Places has, for each stream, the place of its last line in the log. A source with only one stream calls it "".
type Places map[string]int64

// Last returns the place of the last line of stream "", or -1.
func (p Places) Last() int64 { return p.Of("") }

// Of returns the place of the last line of a stream, or -1.
func (p Places) Of(name string) int64 {
	if at, ok := p[name]; ok {
		return at
	}
	return -1
}

// set sets the place of a stream. If its name begins with @, it replaces all other such streams.
func (p Places) set(of string, place int64) {
	if _, there := p[of]; !there && of != "" && of[0] == '@' {
		for name := range p {
			if name != "" && name[0] == '@' {
				delete(p, name)
			}
		}
	}
	p[of] = place
}

// controlFrom begins the first line of a segment, which has the number of the segment's first transaction line.
const controlFrom = "!from "

// open opens the log of a folder at a position; the zero value is its beginning. It calls line with each later line, in
// order, and own with the log's own lines. The arguments are valid during the call; Log.at is then the end of the line.
func (l *Log) open(from Position, places Places, line func(place int64, of string, line []byte) error,
	own func(text string) error) error {
	l.at, l.places = from, maps.Clone(places)
	slice.MakeMap(&l.places)
	if from.Segment == 0 {
		l.at.Segment = 1
	}
	for {
		l.finder.begin(l.at)
		torn, err := l.replay(line, own)
		if errors.Is(err, fs.ErrNotExist) {
			err = l.missing()
			torn = false
		}
		if err != nil {
			return err
		}
		if !there(l.dir, l.at.Segment+1) {
			break
		}
		if torn {
			return l.tornBefore()
		}
		l.at.Segment, l.at.Offset = l.at.Segment+1, 0
	}
	if there(l.dir, l.at.Segment) && !writable(l.dir, l.at.Segment) { // it is compressed: begin a new one
		l.at.Segment, l.at.Offset = l.at.Segment+1, 0
		l.finder.begin(l.at)
	}
	file, err := os.OpenFile(segmentName(l.dir, l.at.Segment), os.O_RDWR|os.O_CREATE, fileMode)
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

// there reports whether a segment exists, and whether its file can be appended to.
func there(dir string, n int) bool {
	_, err := os.Stat(segmentName(dir, n) + compressed)
	return err == nil || writable(dir, n)
}

func writable(dir string, n int) bool {
	_, err := os.Stat(segmentName(dir, n))
	return err == nil
}

// tornBefore returns the error for a segment, not the last one, that ends in the middle of a line.
func (l *Log) tornBefore() *LostError {
	return &LostError{fmt.Sprintf("%s: damaged at byte %d; expected whole lines in all segments but the last",
		segmentName(l.dir, l.at.Segment), l.at.Offset)}
}

// missing returns an error if the first segment is missing, and nil if the log is empty.
func (l *Log) missing() error {
	list, err := segments(l.dir)
	if err == nil && len(list) > 0 {
		err = fmt.Errorf("%s: the beginning of the log has been deleted, and no checkpoint can be read; expected "+
			"one of the two, or another --state folder (isovet check %s checks the transactions that are "+
			"left)", list[0].path(l.dir), escape.Shell(l.dir))
	}
	return err
}

// replay reads a segment from Log.at on. torn says that it ends in the middle of a line.
func (l *Log) replay(line func(place int64, of string, line []byte) error, own func(text string) error) (torn bool,
	err error) {
	path := segmentName(l.dir, l.at.Segment)
	in, err := openSegment(l.dir, l.at.Segment, l.at.Offset)
	if err != nil {
		return false, err
	}
	defer in.Close()
	r := lineReader{Reader: bufio.NewReaderSize(in, 1<<16)}
	var cut logline.Reader
	name := ""
	for {
		text, err := r.next()
		switch {
		case err == io.EOF:
			return len(text) > 0, nil
		case err != nil && !writable(l.dir, l.at.Segment): // its frames have checksums
			return false, &LostError{err.Error()}
		case err != nil:
			return false, err
		}
		place, of, rest, err := cut.Cut(text[:len(text)-1])
		if err != nil {
			return l.damaged(&cut, r.Reader, fmt.Errorf("%s: byte %d: %w", path, l.at.Offset, err))
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
			l.places.set(name, place)
			l.note(start)
			err = line(place, name, rest)
		}
		if err != nil {
			return false, err
		}
	}
}

// damaged returns the result of replay for a damaged line. If no complete record follows, it is a torn end, which can
// have several lines of one write; otherwise it is an error.
func (l *Log) damaged(cut *logline.Reader, behind io.Reader, err error) (torn bool, _ error) {
	rest, e := io.ReadAll(behind)
	if e != nil {
		return false, e
	}
	if !there(l.dir, l.at.Segment+1) && cut.Torn(rest) {
		return true, nil
	}
	return false, &LostError{err.Error()}
}

// lineReader reads lines of any length.
type lineReader struct {
	*bufio.Reader
	long []byte
}

// next returns the next line with its end. With an error it returns the rest. The line is valid until the next call.
func (r *lineReader) next() ([]byte, error) {
	r.long = r.long[:0]
	for {
		line, err := r.ReadSlice('\n')
		if len(r.long) > 0 || errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long, line...)
			line = r.long
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func isOwn(text []byte) bool { return len(text) > 0 && text[0] == '!' }

// put appends control, a line of the log's own, unless it is "", and the lines of a batch, unless it is nil, and syncs
// them. It returns the position after control. If it fails, the log is unchanged, unless the error wraps errLog.
func (l *Log) put(control string, b *Batch) (told Position, err error) {
	if l.at.Offset >= segmentBytes && b != nil {
		if err := l.next(); err != nil {
			return told, err
		}
	}
	was := l.at
	if control != "" {
		err = l.write(l.own(control))
		l.at.Ended = control == controlEnd
		told = l.at
	}
	lines := l.at.Offset
	if err == nil && b != nil {
		err = l.write(b.logged())
	}
	if err == nil {
		err = l.disk.sync(l.f)
	}
	if err != nil {
		return told, l.back(was, err)
	}
	if b == nil {
		return told, nil
	}
	at := int64(0)
	for i := range b.Lines {
		l.note(lines + at)
		at = int64(b.Lines[i].hi) + 1
	}
	b.moves(l.places)
	return told, nil
}

func (l *Log) own(text string) []byte {
	return logline.Append(nil, max(l.places.Last(), 0), "", text)
}

func (l *Log) write(text []byte) error {
	n, err := l.disk.write(l.f, text)
	l.at.Offset += int64(n)
	l.at.Bytes += int64(n)
	return err
}

// errLog says that the content of the log's last file is unknown.
var errLog = errors.New("watch cannot repair the log")

// back truncates the log to its earlier end after a failed write.
func (l *Log) back(to Position, err error) error {
	l.at = to
	e := l.f.Truncate(to.Offset)
	if e == nil {
		_, e = l.f.Seek(to.Offset, io.SeekStart)
	}
	if e != nil {
		return fmt.Errorf("%w: %w, after: %v", errLog, e, err)
	}
	return err
}

// note counts a line, which begins at byte at of the segment.
func (l *Log) note(at int64) {
	l.finder.note(at)
	l.at.Lines++
	l.at.Ended = false
}

func (l *Log) next() error {
	path := segmentName(l.dir, l.at.Segment+1)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	text := l.own(controlFrom + strconv.FormatInt(l.at.Lines, 10))
	_, err = l.disk.write(f, text)
	if err == nil {
		err = l.disk.sync(f)
	}
	if err == nil {
		err = syncDir(l.dir)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	err = l.f.Close()
	l.f, l.at.Segment, l.at.Offset = f, l.at.Segment+1, int64(len(text))
	l.at.Bytes += int64(len(text))
	l.finder.begin(l.at)
	return err
}

// Line reads a line of the log by its number, not counting the log's own lines. Errors: ErrNotKept. Cost: reading up
// to indexEvery lines, and once a whole segment if it was written before the last start. One other goroutine may call
// it, always the same one.
func (l *Log) Line(n int64) ([]byte, error) { return l.finder.line(l.dir, n) }

func (l *Log) Close() error { return l.f.Close() }

// syncDir makes the names of new files survive a crash, if the system can.
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
