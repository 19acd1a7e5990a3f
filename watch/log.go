package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"bufio"
)

// segmentBytes is where a segment ends and the next begins.
const segmentBytes = 64 << 20

// Log is an append-only log of lines with their places in the source, in segments of a folder. A line is
// "place<TAB>line\n". What stands there whole has been written whole: a torn end, of a write that was cut off, is
// dropped when the log is opened. One process at a time, and one goroutine, but for Line.
type Log struct {
	dir   string
	f     *os.File
	n     int   // number of the segment being written
	size  int64 // of it
	bytes int64 // of all
	last  int64 // place of the last line
	lines int64 // but for our own
	dirty bool
	mu    sync.Mutex
	index []mark // of line i*indexEvery
}

// mark is where a line begins.
type mark struct {
	segment int
	at      int64
}

// indexEvery is how many lines are read to find one.
const indexEvery = 64

func segmentName(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("segment-%08d.log", n))
}

// open opens the log of a folder, which is made if need be, and calls line with each line that is there, in order, and
// own with those of our own. What they are given is valid during the call.
func (l *Log) open(line func(place int64, line []byte) error, own func(text string) error) error {
	dir := l.dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for n := 1; ; n++ {
		size, torn, err := l.replay(n, line, own)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return err
		}
		if _, err := os.Stat(segmentName(dir, n+1)); torn && err == nil {
			return fmt.Errorf("%s: damaged in its midst at byte %d; expected whole lines in all segments but the last",
				segmentName(dir, n), size)
		}
		l.n, l.size = n, size
		l.bytes += size
	}
	if l.n == 0 {
		l.n = 1
	}
	file, err := os.OpenFile(segmentName(dir, l.n), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err = file.Truncate(l.size); err == nil {
		_, err = file.Seek(l.size, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.f = file
	return syncDir(dir)
}

func (l *Log) replay(segment int, f func(place int64, line []byte) error, own func(text string) error) (size int64,
	torn bool, err error) {
	path := segmentName(l.dir, segment)
	in, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<20)
	var long []byte
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) || len(long) > 0 {
			long = append(long, line...)
			if err == nil {
				line = long
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF:
			return size, len(line)+len(long) > 0, nil
		case err != nil:
			return size, false, err
		}
		long = long[:0]
		at := bytes.IndexByte(line, '\t')
		place, e := strconv.ParseInt(string(line[:max(at, 0)]), 10, 64)
		if at < 0 || e != nil {
			return size, false, fmt.Errorf("%s: byte %d: %.40q; expected a place and a line", path, size, line)
		}
		text := line[at+1 : len(line)-1]
		l.last = place
		if len(text) > 0 && text[0] == '!' {
			err = own(string(text))
		} else {
			l.note(segment, size)
			err = f(place, text)
		}
		if err != nil {
			return size, false, err
		}
		size += int64(len(line))
	}
}

// control adds a line of our own, at the place of the last one.
func (l *Log) control(text string) error {
	n, err := fmt.Fprintf(l.f, "%d\t%s\n", l.last, text)
	l.size += int64(n)
	l.bytes += int64(n)
	l.dirty = true
	return err
}

// Append adds the lines of a batch, which are safe after the next Sync.
func (l *Log) Append(b *Batch) error {
	if len(b.Lines) == 0 {
		return nil
	}
	if l.size >= segmentBytes {
		if err := l.next(); err != nil {
			return err
		}
	}
	at := int64(0)
	for i := range b.Lines {
		l.note(l.n, l.size+at)
		at = int64(b.Lines[i].hi) + 1
	}
	n, err := l.f.Write(b.logged())
	l.size += int64(n)
	l.bytes += int64(n)
	l.last, l.dirty = b.Lines[len(b.Lines)-1].Place, true
	return err
}

// note counts a line that begins at a byte of a segment.
func (l *Log) note(segment int, at int64) {
	if l.lines%indexEvery == 0 {
		l.mu.Lock()
		l.index = append(l.index, mark{segment, at})
		l.mu.Unlock()
	}
	l.lines++
}

// Line reads a line that is written again, by its number, our own not counted. Cost: a read of up to indexEvery lines.
// It may be called by another goroutine.
func (l *Log) Line(n int64) (line []byte, err error) {
	l.mu.Lock()
	var m mark
	known := n >= 0 && n/indexEvery < int64(len(l.index))
	if known {
		m = l.index[n/indexEvery]
	}
	l.mu.Unlock()
	skip := n % indexEvery
	for ; known; m = (mark{m.segment + 1, 0}) {
		in, err := os.Open(segmentName(l.dir, m.segment))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, skip, err = nth(in, m.at, skip)
		if err = errors.Join(err, in.Close()); err != nil || line != nil {
			return line, err
		}
	}
	return nil, fmt.Errorf("%s: no line %d", l.dir, n)
}

// nth reads the line behind skip others, our own not counted, from a byte of a segment on; nil: there are fewer, skip
// of them to go.
func nth(in *os.File, at, skip int64) ([]byte, int64, error) {
	if _, err := in.Seek(at, io.SeekStart); err != nil {
		return nil, skip, err
	}
	r := bufio.NewReaderSize(in, 1<<15)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil, skip, nil
		}
		if err != nil {
			return nil, skip, err
		}
		line = line[bytes.IndexByte(line, '\t')+1 : len(line)-1]
		switch {
		case len(line) > 0 && line[0] == '!':
		case skip == 0:
			return line, 0, nil
		default:
			skip--
		}
	}
}

func (l *Log) next() error {
	if err := l.Sync(); err != nil {
		return err
	}
	if err := l.f.Close(); err != nil {
		return err
	}
	f, err := os.OpenFile(segmentName(l.dir, l.n+1), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	l.n, l.f, l.size = l.n+1, f, 0
	return syncDir(l.dir)
}

// Sync makes everything appended safe.
func (l *Log) Sync() error {
	if !l.dirty {
		return nil
	}
	l.dirty = false
	return l.f.Sync()
}

// Last is the place of the last line, or before where there is none.
func (l *Log) Last(before int64) int64 {
	if l.lines == 0 {
		return before
	}
	return l.last
}

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
