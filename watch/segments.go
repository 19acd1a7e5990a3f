package watch

import (
	"bytes"
	"encoding/binary"
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

// Segments that no checkpoint needs are compressed, each to a .zst of frames of frameBytes and a table of them at its
// end (the seekable format of zstd's contrib), so that a line can be read without the frames before it; any zstd
// program reads them. The oldest ones are deleted, as Keep says.

// Keep bounds the part of the log that stays although no checkpoint needs it. 0: no bound.
type Keep struct {
	Age   time.Duration // since the last line of a segment
	Bytes int64         // on disk, of all segments
}

const (
	segmentPattern = "segment-%08d.log"
	compressed     = ".zst"
	frameBytes     = 1 << 20
	// beginningFile has the header once the segment with it is deleted.
	beginningFile = "beginning.jsonl"
)

func segmentName(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf(segmentPattern, n))
}

// segmentFile is a segment's file in the folder.
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

// segments lists the segments of a folder, the oldest first. If a segment exists plain and compressed, it lists the
// plain file: the compression did not end, or the file was not removed yet.
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

// openSegment opens a segment at a byte of its lines. Errors: fs.ErrNotExist.
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

// frame is a part of a compressed segment.
type frame struct {
	at         int64 // in the file
	size, text uint32
}

// packed reads the lines of a compressed segment.
type packed struct {
	f      *os.File
	frames []frame // not read yet
	buf    []byte  // compressed
	text   []byte
	rest   []byte // of text
}

const (
	skippable = 0x184D2A5E
	seekable  = 0x8F92EAB1
)

func openPacked(path string, at int64) (*packed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	frames, err := table(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	p := &packed{f: f, frames: frames}
	for len(p.frames) > 0 && at >= int64(p.frames[0].text) {
		at -= int64(p.frames[0].text)
		p.frames = p.frames[1:]
	}
	if len(p.frames) > 0 {
		if err := p.next(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		p.rest = p.rest[at:]
	}
	return p, nil
}

var errTable = errors.New("its end is not as isovet wrote it; expected the table of its frames")

// table reads the table of frames at a file's end.
func table(f *os.File) ([]frame, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var foot [9]byte
	if _, err := f.ReadAt(foot[:], max(st.Size()-9, 0)); err != nil {
		return nil, errTable
	}
	n := int64(binary.LittleEndian.Uint32(foot[:]))
	if binary.LittleEndian.Uint32(foot[5:]) != seekable || 8*n+17 > st.Size() {
		return nil, errTable
	}
	entries := make([]byte, 8*n)
	if _, err := f.ReadAt(entries, st.Size()-9-8*n); err != nil {
		return nil, err
	}
	out := make([]frame, n)
	at := int64(0)
	for i := range out {
		x := &out[i]
		*x = frame{at, binary.LittleEndian.Uint32(entries[8*i:]), binary.LittleEndian.Uint32(entries[8*i+4:])}
		at += int64(x.size)
	}
	if at+8*n+17 != st.Size() {
		return nil, errTable
	}
	return out, nil
}

func (p *packed) next() error {
	x := p.frames[0]
	p.frames = p.frames[1:]
	p.buf = slices.Grow(p.buf[:0], int(x.size))[:x.size]
	if _, err := p.f.ReadAt(p.buf, x.at); err != nil {
		return fmt.Errorf("%s: %w", p.f.Name(), err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*frameBytes))
	if err != nil {
		return err
	}
	defer d.Close()
	p.text, err = d.DecodeAll(p.buf, p.text[:0])
	if err == nil && len(p.text) != int(x.text) {
		err = errTable
	}
	if err != nil {
		return fmt.Errorf("%s: damaged at byte %d: %w", p.f.Name(), x.at, err)
	}
	p.rest = p.text
	return nil
}

func (p *packed) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if len(p.frames) == 0 {
			return 0, io.EOF
		}
		if err := p.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *packed) Close() error { return p.f.Close() }

// pack compresses a segment, unless stop returns true.
func pack(dir string, n int, stop func() bool) (err error) {
	path := segmentName(dir, n)
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
	tmp := path + compressed + ".new"
	out, err := create(tmp)
	if err != nil {
		return err
	}
	done, err := packInto(out, in, stop)
	if err == nil && done {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil || !done {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Chtimes(tmp, st.ModTime(), st.ModTime()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path+compressed); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return os.Remove(path)
}

func packInto(out io.Writer, in io.Reader, stop func() bool) (done bool, err error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(frameBytes))
	if err != nil {
		return false, err
	}
	defer z.Close()
	text, buf := make([]byte, frameBytes), []byte(nil)
	var entries []byte
	frames := uint32(0)
	for {
		if stop() {
			return false, nil
		}
		n, err := io.ReadFull(in, text)
		if n > 0 {
			buf = z.EncodeAll(text[:n], buf[:0])
			if _, err := out.Write(buf); err != nil {
				return false, err
			}
			entries = binary.LittleEndian.AppendUint32(entries, uint32(len(buf)))
			entries = binary.LittleEndian.AppendUint32(entries, uint32(n))
			frames++
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	end := binary.LittleEndian.AppendUint32(nil, skippable)
	end = binary.LittleEndian.AppendUint32(end, uint32(len(entries)+9))
	end = append(end, entries...)
	end = append(binary.LittleEndian.AppendUint32(end, frames), 0)
	end = binary.LittleEndian.AppendUint32(end, seekable)
	_, err = out.Write(end)
	return err == nil, err
}

// tidy compresses the segments before one, and deletes the oldest as Keep says.
func tidy(dir string, before int, keep Keep, stop func() bool) error {
	list, err := segments(dir)
	if err != nil {
		return err
	}
	for i := range list {
		if s := &list[i]; s.n < before && !s.packed {
			if err := pack(dir, s.n, stop); err != nil || stop() {
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

// keepHeader writes the stream's header, if it has one, to a file of its own.
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
