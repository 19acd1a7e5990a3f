package watch

import (
	"bufio"
	"cmp"
	"compress/bzip2"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"isovet/internal/pattern"
)

// member is one of a sequence of files.
type member struct {
	path   string
	info   fs.FileInfo
	packed bool
}

func isPattern(path string) bool { return strings.ContainsAny(path, "*?[") }

var (
	packedName = pattern.Lazy(`\.(gz|zst|bz2|xz)$`)
	// rotatedName matches what rotation adds after a file's name or before its extension: a number or a time.
	rotatedName   = pattern.Lazy(`^[-.]\d[\dTZ:._+-]*$`)
	rotatedNumber = pattern.Lazy(`\.(\d{1,6})$`)
)

// members lists the files of a path, oldest first: the files of a pattern, or a file after its rotated predecessors.
func members(path string) ([]member, error) {
	var names []string
	if isPattern(path) {
		var err error
		if names, err = filepath.Glob(path); err != nil {
			return nil, err
		}
	} else {
		list, err := os.ReadDir(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		base := filepath.Base(path)
		stem := strings.TrimSuffix(base, filepath.Ext(base))
		for _, e := range list {
			plain := packedName().ReplaceAllString(e.Name(), "")
			behind, is := strings.CutPrefix(plain, base)
			amid, also := strings.CutPrefix(strings.TrimSuffix(plain, filepath.Ext(base)), stem)
			if e.Name() == base || is && rotatedName().MatchString(behind) || also && rotatedName().MatchString(amid) {
				names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
			}
		}
	}
	var all []member
	for _, name := range names {
		st, err := os.Stat(name)
		if err != nil || !st.Mode().IsRegular() {
			continue // renamed meanwhile
		}
		packed := packedName().MatchString(name)
		if packed && name != path && slices.Contains(names, packedName().ReplaceAllString(name, "")) {
			continue // it is being compressed
		}
		all = append(all, member{name, st, packed})
	}
	slices.SortFunc(all, func(a, b member) int {
		if c := cmp.Compare(bit(a.path == path), bit(b.path == path)); c != 0 {
			return c
		}
		if c := a.info.ModTime().Compare(b.info.ModTime()); c != 0 {
			return c
		}
		if c := cmp.Compare(b.rotations(), a.rotations()); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	return all, nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rotations returns the number after the file's name.
func (m member) rotations() int {
	if n := rotatedNumber().FindStringSubmatch(packedName().ReplaceAllString(m.path, "")); n != nil {
		if i, err := strconv.Atoi(n[1]); err == nil {
			return i
		}
	}
	return 0
}

func (m member) open() (f *os.File, in io.Reader, done func(), err error) {
	if f, err = os.Open(m.path); err != nil {
		return nil, nil, nil, err
	}
	in, undo, err := unpacked(f, m.packed)
	if err != nil {
		f.Close()
		return nil, nil, nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return f, in, func() { undo(); f.Close() }, nil
}

func unpacked(f *os.File, packed bool) (in io.Reader, done func(), err error) {
	done = func() {}
	if !packed {
		return f, done, nil
	}
	switch filepath.Ext(f.Name()) {
	case ".zst":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case ".gz":
		in, err = gzip.NewReader(f)
	case ".xz":
		in, err = xz.NewReader(bufio.NewReader(f))
	default:
		in = bzip2.NewReader(f)
	}
	return in, done, err
}

func headOf(path string, f *os.File, packed bool, most int64) ([]byte, error) {
	if !packed && f != nil {
		head := make([]byte, most)
		n, err := f.ReadAt(head, 0)
		if err == io.EOF {
			err = nil
		}
		return head[:n], err
	}
	_, in, done, err := member{path: path, packed: packed}.open()
	if err != nil {
		return nil, err
	}
	defer done()
	head, err := io.ReadAll(io.LimitReader(in, most))
	return head, err
}

// same reports whether a file is the current one: it has the same beginning and at least the bytes read so far.
func (s *files) same(m member) bool {
	if s.known == 0 || !m.packed && m.info.Size() < s.at {
		return false
	}
	head, err := headOf(m.path, nil, m.packed, s.known)
	return err == nil && int64(len(head)) == s.known && xxhash.Sum64(head) == s.sum
}

// find finds the current file by its beginning. If several match, it returns the latest. If it knows only a short
// beginning, such as a header that all files have, the current file may be an earlier one, and it warns.
func (s *files) find(all []member) (m member, ok bool) {
	for _, x := range slices.Backward(all) {
		switch {
		case !s.same(x):
		case !ok:
			if m, ok = x, true; s.known >= headBytes {
				return m, ok
			}
		default:
			s.lose("two files begin as the one that watch was reading; if that was the earlier, its other lines "+
				"are lost", "earlier", x.path, "path", m.path, "read", s.at)
			return m, ok
		}
	}
	return m, ok
}

func (s *files) wait(ctx context.Context) (end bool, err error) {
	if s.o.Once {
		return true, nil
	}
	if err := sleep(ctx, 10*s.poll); err != nil {
		return false, err
	}
	all, err := members(s.o.Path)
	if err != nil || len(all) == 0 {
		return false, err
	}
	return false, s.begin(all)
}

// ended handles the end of a file: it waits, or begins the next file. It returns a last line that has no line end.
func (s *files) ended(ctx context.Context) (line Line, end bool, err error) {
	if cut, err := s.cutOff(s.at); cut || err != nil {
		return Line{}, false, err
	}
	if s.next == "" || time.Since(s.looked) > 250*time.Millisecond {
		if err := s.look(); err != nil {
			return Line{}, false, err
		}
	}
	if s.next != "" && (s.o.Once || s.packed || time.Since(s.since) >= s.o.Grace) {
		if line := s.rest(); len(line.Text) > 0 {
			return line, false, nil
		}
		next := member{path: s.next, packed: packedName().MatchString(s.next)}
		if err := s.begin([]member{next}); err != nil && !os.IsNotExist(err) {
			return Line{}, false, err
		} else if err != nil { // renamed meanwhile
			s.number--
			s.next = ""
		}
		return Line{}, false, nil
	}
	if s.o.Once && s.next == "" {
		line := s.rest()
		return line, len(line.Text) == 0, nil
	}
	return Line{}, false, sleep(ctx, s.poll)
}

// rest returns the last line if it has no line end. In a damaged file this is a part of a line.
func (s *files) rest() Line {
	if len(s.part) == 0 || s.damage != nil {
		return Line{}
	}
	return s.named([]Line{s.whole()})[0]
}

// cutOff reports whether the file was truncated and is written again from its beginning. If there is a copy of the
// file, it first reads the unread rest there, from offset from on.
func (s *files) cutOff(from int64) (bool, error) {
	if s.packed {
		return false, nil
	}
	st, err := s.f.Stat()
	if err != nil {
		return false, err
	}
	whole := st.Size() >= s.at+int64(len(s.part))+s.cut
	if whole && s.known > 0 {
		head, err := headOf("", s.f, false, s.known)
		if err != nil {
			return false, err
		}
		whole = int64(len(head)) == s.known && xxhash.Sum64(head) == s.sum
	}
	if whole {
		return false, nil
	}
	s.at = from
	path := s.f.Name()
	all, err := members(s.o.Path)
	if err != nil {
		return false, err
	}
	if m, ok := s.find(all); ok {
		s.o.Log.Info("the file was truncated; watch reads its rest from a "+
			"copy", "path", path, "copy", m.path, "read", s.at)
		return true, s.open(m, s.at)
	}
	s.lose("the file was truncated, and there is no copy of it: the lines that watch had not read are lost; "+
		"watch reads the file from its beginning", "path", path, "read", s.at)
	return true, s.begin([]member{{path: path, info: st}})
}

func (s *files) look() error {
	s.looked = time.Now()
	all, err := members(s.o.Path)
	if err != nil {
		return err
	}
	ours, err := s.f.Stat()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(m member) bool { return os.SameFile(m.info, ours) })
	if i < 0 { // compressed, or removed
		i = slices.IndexFunc(all, s.same)
	}
	var next []member
	if i >= 0 {
		next = all[i+1:]
	} else if i = slices.IndexFunc(all, func(m member) bool { return m.info.ModTime().After(ours.ModTime()) }); i >= 0 {
		next = all[i:]
	}
	next = slices.DeleteFunc(slices.Clone(next), func(m member) bool { return m.info.Size() == 0 })
	was := s.next
	if s.next = ""; len(next) > 0 {
		s.next = next[0].path
	}
	if was == "" && s.next != "" {
		if s.since = s.looked; s.looked.Sub(ours.ModTime()) > 10*s.o.Grace {
			s.since = time.Time{} // it was abandoned long ago
		}
	}
	return nil
}
