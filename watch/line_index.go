package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"sync"

	"isovet/history/format/logline"
)

// ErrNotKept says that a line was deleted from the log.
var ErrNotKept = errors.New("--keep deleted the line")

// finder finds lines in a log by their numbers.
type finder struct {
	mu     sync.Mutex
	recent []*segmentIndex // in the order of writing or reading, the latest last
	// old has other segments' indexes, the most recently used last. Only the judging goroutine uses it.
	old   []*segmentIndex // read on demand, the last used last
	first map[int]int64   // segment → number of its first line
	last  int             // the last segment, if nothing is written
}

// segmentIndex has the offsets of some lines of a segment.
type segmentIndex struct {
	segment int
	first   int64   // number of the first known line
	marks   []int64 // begin of line first+i*indexEvery
	lines   int64
}

// indexEvery is the largest number of lines that are read to find one. indexed bounds the segments whose index stays
// in memory, at 20 kB each, and also the older segments whose index was read again.
const (
	indexEvery = 64
	indexed    = 32
)

// begin begins the index of a segment, or continues it.
func (f *finder) begin(at Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent = append(f.recent, &segmentIndex{segment: at.Segment, first: at.Lines})
	if len(f.recent) > indexed {
		f.recent = slices.Delete(f.recent, 0, 1)
	}
}

// note adds the offset of the next line of the latest segment.
func (f *finder) note(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.recent[len(f.recent)-1]
	if x.lines%indexEvery == 0 {
		x.marks = append(x.marks, at)
	}
	x.lines++
}

func (x *segmentIndex) has(n int64) bool { return n >= x.first && n < x.first+x.lines }

// mark returns an offset from which line n can be found by skipping skip lines.
func (x *segmentIndex) mark(n int64) (at, skip int64) {
	i := n - x.first
	return x.marks[i/indexEvery], i % indexEvery
}

func (f *finder) line(dir string, n int64) ([]byte, error) {
	f.mu.Lock()
	segment, at, skip := 0, int64(0), int64(0)
	latest := f.last
	for _, x := range f.recent {
		latest = x.segment
		if x.has(n) {
			segment = x.segment
			at, skip = x.mark(n)
		}
	}
	f.mu.Unlock()
	if segment == 0 {
		x, err := f.search(dir, n, latest)
		if err != nil {
			return nil, err
		}
		segment = x.segment
		at, skip = x.mark(n)
	}
	in, err := openSegment(dir, segment, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s, line %d: %w", dir, n, ErrNotKept)
	}
	if err != nil {
		return nil, err
	}
	line, err := nth(in, skip)
	if err != nil {
		err = fmt.Errorf("%s, line %d: %w", segmentName(dir, segment), n, err)
	}
	return line, errors.Join(err, in.Close())
}

// search finds the index of the earlier segment that has a line.
func (f *finder) search(dir string, n int64, latest int) (*segmentIndex, error) {
	if i := slices.IndexFunc(f.old, func(x *segmentIndex) bool { return x.has(n) }); i >= 0 {
		x := f.old[i]
		f.old = append(slices.Delete(f.old, i, i+1), x)
		return x, nil
	}
	if f.first == nil {
		f.first = map[int]int64{1: 0}
	}
	for segment := latest; n >= 0 && segment > 0; segment-- {
		first, err := f.firstOf(dir, segment)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if first > n {
			continue
		}
		x, err := f.read(dir, segment, first)
		if err != nil {
			return nil, err
		}
		if !x.has(n) {
			break
		}
		if f.old = append(f.old, x); len(f.old) > indexed {
			f.old = slices.Delete(f.old, 0, 1)
		}
		return x, nil
	}
	return nil, fmt.Errorf("%s, line %d: %w", dir, n, ErrNotKept)
}

// firstOf returns the number of a segment's first line.
func (f *finder) firstOf(dir string, segment int) (int64, error) {
	if n, ok := f.first[segment]; ok {
		return n, nil
	}
	in, err := openSegment(dir, segment, 0)
	if err != nil {
		return 0, err
	}
	head, _ := bufio.NewReaderSize(in, 64).ReadSlice('\n') // the beginning suffices
	if err := in.Close(); err != nil {
		return 0, err
	}
	n := int64(0)
	if _, text, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\t")); bytes.HasPrefix(text, []byte(controlFrom)) {
		if n, err = strconv.ParseInt(string(text[len(controlFrom):]), 10, 64); err != nil {
			return 0, fmt.Errorf("%s: %w", segmentName(dir, segment), err)
		}
	} else { // a segment of an earlier isovet
		before, err := f.firstOf(dir, segment-1)
		if err != nil {
			return 0, err
		}
		x, err := f.read(dir, segment-1, before)
		if err != nil {
			return 0, err
		}
		n = before + x.lines
	}
	f.first[segment] = n
	return n, nil
}

// read makes the index of a segment. Lines that are being written are not in it.
func (f *finder) read(dir string, segment int, first int64) (*segmentIndex, error) {
	in, err := openSegment(dir, segment, 0)
	if err != nil {
		return nil, err
	}
	x := &segmentIndex{segment: segment, first: first}
	r := lineReader{Reader: bufio.NewReaderSize(in, 1<<18)}
	for at := int64(0); err == nil; {
		var line []byte
		if line, err = r.next(); err == nil && !isOwn(line[bytes.IndexByte(line, '\t')+1:]) {
			if x.lines%indexEvery == 0 {
				x.marks = append(x.marks, at)
			}
			x.lines++
		}
		at += int64(len(line))
	}
	if err != io.EOF {
		return nil, errors.Join(err, in.Close())
	}
	return x, in.Close()
}

// nth reads a line after skipping others. It does not count the log's own lines.
func nth(in io.Reader, skip int64) ([]byte, error) {
	r := bufio.NewReaderSize(in, 1<<13) // an index entry is 64 lines apart at most
	var cut logline.Reader
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		if _, _, line, err = cut.Cut(line[:len(line)-1]); err != nil {
			return nil, err
		}
		switch {
		case isOwn(line):
		case skip == 0:
			return line, nil
		default:
			skip--
		}
	}
}
