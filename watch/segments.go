package watch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"isovet/history/format/jsonl"
)

// A segment that no checkpoint needs is compressed to a .zst file. The oldest segments are deleted as Keep says.

// Keep bounds the part of the log that no checkpoint needs and that stays nevertheless; 0 means no bound.
type Keep struct {
	Age   time.Duration // since the last line of a segment
	Bytes int64         // on disk, of all segments
}

const (
	segmentPattern = "segment-%08d.log"
	compressed     = ".zst"
	// beginningFile has the header after the segment with it was deleted.
	beginningFile = "beginning.jsonl"
)

func segmentName(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf(segmentPattern, n))
}

type segmentFile struct {
	n      int
	size   int64
	mod    time.Time
	packed bool
}

func (s *segmentFile) path(dir string) string {
	if s.packed {
		return segmentName(dir, s.n) + compressed
	}
	return segmentName(dir, s.n)
}

// segments lists the segments of a folder, oldest first. If a segment exists plain and compressed, it lists the plain
// file: the compression may be unfinished.
func segments(dir string) ([]segmentFile, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	of := map[int]segmentFile{}
	for _, e := range list {
		number, ok := strings.CutPrefix(e.Name(), "segment-")
		number, packed := strings.CutSuffix(number, compressed)
		number, is := strings.CutSuffix(number, ".log")
		n, err := strconv.Atoi(number)
		if !ok || !is || err != nil || e.IsDir() {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, plain := of[n]; !plain || !packed {
			of[n] = segmentFile{n, st.Size(), st.ModTime(), packed}
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b segmentFile) int { return a.n - b.n }), nil
}

// openSegment opens a segment at an offset of its uncompressed lines. Errors: fs.ErrNotExist.
func openSegment(dir string, n int, at int64) (io.ReadCloser, error) {
	f, err := os.Open(segmentName(dir, n))
	if errors.Is(err, fs.ErrNotExist) {
		return openPacked(segmentName(dir, n)+compressed, at)
	}
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// packed reads the lines of a compressed segment.
type packed struct {
	f    *os.File
	in   io.Reader
	done func()
}

func openPacked(path string, at int64) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	in, done, err := unpacked(f, true)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	p := &packed{f, in, done}
	if st, err := f.Stat(); err == nil && st.Size() == 0 {
		return nil, errors.Join(fmt.Errorf("%s: damaged: %w", path, io.ErrUnexpectedEOF), p.Close())
	}
	if _, err := io.CopyN(io.Discard, p, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *packed) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: damaged: %w", p.f.Name(), err)
	}
	return n, err
}

func (p *packed) Close() error {
	p.done()
	return p.f.Close()
}

// packFile compresses a file into one with the suffix compressed. It ends early when stop returns true.
func packFile(path string, stop func() bool) error {
	if _, err := os.Stat(path + compressed); err == nil {
		return os.Remove(path) // the compressed file is complete, or it would not have its name
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := create(path + compressed + ".new")
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20)) // a reader needs as much memory
	if err == nil {
		_, err = io.Copy(z, stoppable{in, stop})
		err = errors.Join(err, z.Close())
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		gone := os.Remove(out.Name())
		if errors.Is(err, errStopped) {
			return gone
		}
		return errors.Join(err, gone)
	}
	if err := os.Chtimes(out.Name(), st.ModTime(), st.ModTime()); err != nil {
		return err
	}
	if err := os.Rename(out.Name(), path+compressed); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return err
	}
	return os.Remove(path)
}

// stoppable is a reader that fails with errStopped when stop returns true.
type stoppable struct {
	io.Reader
	stop func() bool
}

var errStopped = errors.New("stopped")

func (s stoppable) Read(b []byte) (int, error) {
	if s.stop() {
		return 0, errStopped
	}
	return s.Reader.Read(b)
}

// tidy compresses all segments before a given one, and deletes the oldest as Keep says.
func tidy(dir string, before int, keep Keep, stop func() bool) error {
	list, err := segments(dir)
	if err != nil {
		return err
	}
	for i := range list {
		if s := &list[i]; s.n < before && !s.packed {
			if err := packFile(segmentName(dir, s.n), stop); err != nil || stop() {
				return err
			}
		}
	}
	if list, err = segments(dir); err != nil {
		return err
	}
	total := int64(0)
	for _, s := range list {
		total += s.size
	}
	for i := range list {
		s := &list[i]
		old := keep.Age > 0 && time.Since(s.mod) > keep.Age
		if s.n >= before || !old && (keep.Bytes <= 0 || total <= keep.Bytes) {
			break
		}
		if s.n == 1 {
			if err := keepHeader(dir); err != nil {
				return err
			}
		}
		if err := os.Remove(s.path(dir)); err != nil {
			return err
		}
		total -= s.size
	}
	return syncDir(dir)
}

// keepHeader copies the stream's header, if it has one, to a file of its own.
func keepHeader(dir string) error {
	in, err := openSegment(dir, 1, 0)
	if err != nil {
		return err
	}
	line, err := nth(in, 0)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	line = bytes.TrimPrefix(line, bom)
	if !jsonl.IsHeader(line) {
		line = nil
	} else {
		line = append(line, '\n')
	}
	path := filepath.Join(dir, beginningFile)
	if err := os.WriteFile(path+".new", line, fileMode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
