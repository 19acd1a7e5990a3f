package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// segmentBytes is where a segment ends and the next begins.
const segmentBytes = 64 << 20

// Log is an append-only log of lines with their places in the source, in segments of a folder. A line is "place<TAB>line\n". What stands there
// whole has been written whole: a torn end, of a write that was cut off, is dropped when the log is opened. One process at a time.
type Log struct {
	dir   string
	f     *os.File
	w     *bufio.Writer
	n     int   // number of the segment being written
	size  int64 // of it
	bytes int64 // of all
	last  int64 // place of the last line
	lines int64
	dirty bool
}

func segmentName(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("segment-%08d.log", n))
}

// OpenLog opens the log of a folder, which is made if need be, and calls f with each line that is there, in order. The line is valid during the
// call.
func OpenLog(dir string, f func(place int64, line []byte) error) (*Log, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &Log{dir: dir}
	for n := 1; ; n++ {
		size, torn, err := l.replay(segmentName(dir, n), f)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(segmentName(dir, n+1)); torn && err == nil {
			return nil, fmt.Errorf("%s: damaged in its midst at byte %d; expected whole lines in all segments but the last", segmentName(dir, n), size)
		}
		l.n, l.size = n, size
		l.bytes += size
	}
	if l.n == 0 {
		l.n = 1
	}
	file, err := os.OpenFile(segmentName(dir, l.n), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err = file.Truncate(l.size); err == nil {
		_, err = file.Seek(l.size, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	l.f, l.w = file, bufio.NewWriterSize(file, 1<<18)
	return l, syncDir(dir)
}

func (l *Log) replay(path string, f func(place int64, line []byte) error) (size int64, torn bool, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<18)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return size, len(line) > 0, nil
		}
		if err != nil {
			return size, false, err
		}
		at := bytes.IndexByte(line, '\t')
		place, e := strconv.ParseInt(string(line[:max(at, 0)]), 10, 64)
		if at < 0 || e != nil {
			return size, false, fmt.Errorf("%s: byte %d: %.40q; expected a place and a line", path, size, line)
		}
		size += int64(len(line))
		l.last = place
		l.lines++
		if err := f(place, line[at+1:len(line)-1]); err != nil {
			return size, false, err
		}
	}
}

// control adds a line of our own, at the place of the last one.
func (l *Log) control(text string) error {
	n, err := fmt.Fprintf(l.w, "%d\t%s\n", l.last, text)
	l.size += int64(n)
	l.bytes += int64(n)
	l.dirty = true
	return err
}

// Append adds a line, which is safe after the next Sync. Lines at or before the last place are there already: false.
func (l *Log) Append(place int64, line []byte) (bool, error) {
	if l.lines > 0 && place <= l.last {
		return false, nil
	}
	if l.size >= segmentBytes {
		if err := l.next(); err != nil {
			return false, err
		}
	}
	b := append(strconv.AppendInt(l.w.AvailableBuffer(), place, 10), '\t')
	n, err := l.w.Write(b)
	if err == nil {
		var m, k int
		m, err = l.w.Write(line)
		if err == nil {
			k, err = l.w.WriteString("\n")
		}
		n += m + k
	}
	l.size += int64(n)
	l.bytes += int64(n)
	l.last, l.dirty = place, true
	l.lines++
	return true, err
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
	l.w.Reset(f)
	return syncDir(l.dir)
}

// Sync makes everything appended safe.
func (l *Log) Sync() error {
	if !l.dirty {
		return nil
	}
	if err := l.w.Flush(); err != nil {
		return err
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
