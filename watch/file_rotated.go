package watch

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"context"
	"errors"
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
// One look misses a file that is renamed, compressed or begun meanwhile, so that two looks in a row have to agree.
func members(path string) ([]member, error) {
	all, err := look(path)
	for n := 0; n < 9 && err == nil; n++ {
		was := all
		if all, err = look(path); slices.EqualFunc(was, all, member.is) {
			break
		}
	}
	return all, err
}

// is reports whether two looks found the same file under the same name, with or without content.
func (m member) is(o member) bool {
	return m.path == o.path && os.SameFile(m.info, o.info) && (m.info.Size() == 0) == (o.info.Size() == 0)
}

func look(path string) ([]member, error) {
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
		switch c := a.info.ModTime().Compare(b.info.ModTime()); {
		case a.path == path:
			return 1
		case b.path == path:
			return -1
		case c != 0:
			return c
		}
		return cmp.Or(cmp.Compare(b.rotations(), a.rotations()), strings.Compare(a.path, b.path))
	})
	return all, nil
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

// open opens the file. If its name meanwhile belongs to another file, it returns an error as for a missing one.
func (m member) open() (*os.File, error) {
	f, err := os.Open(m.path)
	if err != nil || m.info == nil {
		return f, err
	}
	st, err := f.Stat()
	if err == nil && !os.SameFile(st, m.info) {
		err = &fs.PathError{Op: "open", Path: m.path, Err: fs.ErrNotExist}
	}
	if err != nil {
		f.Close()
	}
	return f, err
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
	switch {
	case err == io.EOF: // it is empty
		in, err = strings.NewReader(""), nil
	case isEnd(err): // the header is still being written
		r, w := io.Pipe()
		w.CloseWithError(err)
		in, err = r, nil
	}
	return in, done, err
}

// isEnd reports whether a file ended, maybe in the middle of compressed data.
func isEnd(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }

func headOf(path string, f *os.File, packed bool, most int64) ([]byte, error) {
	if !packed && f != nil {
		head := make([]byte, most)
		n, err := f.ReadAt(head, 0)
		if err == io.EOF {
			err = nil
		}
		return head[:n], err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, done, err := unpacked(f, packed)
	if err != nil {
		return nil, err
	}
	defer done()
	head, _ := io.ReadAll(io.LimitReader(in, most)) // a damaged file has less
	return head, nil
}

// same reports whether a file is the current one: it has the same beginning and at least the bytes read so far.
func (s *files) same(m member) bool {
	if s.known == 0 || !m.packed && m.info.Size() < s.at {
		return false
	}
	head, err := headOf(m.path, nil, m.packed, s.known)
	return err == nil && s.begins(head)
}

// begins reports whether the current file begins like this.
func (s *files) begins(head []byte) bool {
	return int64(len(head)) >= s.known && xxhash.Sum64(head[:s.known]) == s.sum || s.known == 0
}

// find finds the current file by its beginning; of several, the last counts, with a warning if only a short beginning
// is known, such as a header. It looks several times, since a file may just be renamed, copied or compressed.
func (s *files) find() (same, all []member, err error) {
	for range 10 {
		if all, err = members(s.o.Path); err != nil {
			return nil, nil, err
		}
		same = slices.DeleteFunc(slices.Clone(all), func(m member) bool { return !s.same(m) })
		if len(same) == 1 || len(same) > 1 && s.known >= headBytes {
			return same, all, nil
		}
		if err := Sleep(s.o.Context, s.poll); err != nil {
			return nil, nil, err
		}
	}
	if n := len(same); n > 1 {
		s.lose("two files begin as the one that watch was reading; if that was the earlier, its other lines are lost",
			"earlier", same[n-2].path, "path", same[n-1].path, "read", s.at)
	}
	return same, all, nil
}

func (s *files) wait(ctx context.Context) (end bool, err error) {
	if s.o.Once {
		return true, nil
	}
	if err := Sleep(ctx, 10*s.poll); err != nil {
		return false, err
	}
	all, err := members(s.o.Path)
	all = slices.DeleteFunc(all, func(m member) bool { return m.info.ModTime().Before(s.looked) }) // they were read
	return false, cmp.Or(err, s.begin(all))
}

// ended handles the end of a file: it waits, or begins the next file. It returns a last line that has no line end.
func (s *files) ended(ctx context.Context, from int64) (line Line, end bool, err error) {
	if cut, err := s.cutOff(from); cut || err != nil {
		return Line{}, false, err
	}
	if s.o.Once || time.Since(s.looked) > s.o.Grace/4 {
		if err := s.look(); err != nil {
			return Line{}, false, err
		}
	}
	since := time.Since(s.opened) // whoever begins the next file has written this one before
	st, err := s.f.Stat()
	if err == nil && !s.packed && st.Size() > s.at+int64(len(s.part))+s.cut {
		return Line{}, false, nil // it grew before the next file began
	}
	if err == nil && s.packed && st.Size() > s.size && (s.o.Once || s.next != nil ||
		since > s.o.Grace) && (s.damage == nil || isEnd(s.damage)) {
		return Line{}, false, s.from(s.at)
	}
	goes := s.next != nil && (s.o.Once || s.packed && s.damage == nil || time.Since(s.since) >= s.o.Grace) &&
		(!s.same(*s.next) || time.Since(s.since) >= 10*s.o.Grace) // it was copied, and is truncated next
	if s.damage != nil && !s.told && (goes || s.o.Once || !isEnd(s.damage) || since > 10*s.o.Grace) {
		s.told = true
		s.lose("a compressed file is damaged; watch ignores its rest", "path", s.f.Name(), "at", s.at,
			"error", s.damage)
	}
	switch {
	case goes:
		if line := s.rest(); len(line.Text) > 0 {
			return line, false, nil
		}
		return Line{}, false, s.goOn(ctx, *s.next)
	case s.o.Once && s.next == nil:
		line := s.rest()
		return line, len(line.Text) == 0, nil
	}
	return Line{}, false, Sleep(ctx, s.poll)
}

// goOn begins the next file when it has a line, by which it is found again. That line belongs to it if another look
// finds the same file: else it was renamed, or copied and truncated, meanwhile.
func (s *files) goOn(ctx context.Context, next member) error {
	head, err := headOf(next.path, nil, next.packed, headBytes)
	if err == nil {
		err = s.look()
	}
	was, begun := s.number, s.o.Once || next.packed || len(head) == headBytes || bytes.Contains(head, []byte("\n")) ||
		time.Since(next.info.ModTime()) > 10*s.o.Grace
	if err == nil && begun && s.next != nil && s.next.is(next) {
		err = s.begin([]member{next})
	}
	switch {
	case s.number > was:
		s.know(head)
	case err == nil || os.IsNotExist(err):
		s.looked = time.Time{}
		return Sleep(ctx, s.poll)
	}
	return err
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
	if whole {
		head, err := headOf("", s.f, false, headBytes)
		if err != nil {
			return false, err
		}
		if s.begins(head) {
			s.know(head)
			return false, nil
		}
	}
	s.at, s.looked = from, st.ModTime()
	path := s.f.Name()
	same, _, err := s.find()
	n := len(same)
	if n > 0 {
		s.o.Log.Info("the file was truncated; watch reads its rest from a "+
			"copy", "path", path, "copy", same[n-1].path, "read", s.at)
		if err = s.open(same[n-1], s.at); s.again(err) {
			return s.cutOff(from) // the copy was renamed meanwhile
		}
	}
	if n > 0 || err != nil {
		return n > 0, err
	}
	s.lose("the file was truncated, and there is no copy of it: the lines that watch had not read are lost; "+
		"watch reads the file from its beginning", "path", path, "read", s.at)
	s.shut()
	return true, s.begin([]member{{path: path}})
}

func (s *files) look() error {
	s.looked = time.Now()
	ours, err := s.f.Stat()
	if err != nil {
		return err
	}
	all, i := []member(nil), -1
	for n := 0; i < 0 && n < 6; n++ {
		if all, err = members(s.o.Path); err != nil {
			return err
		}
		if i = slices.IndexFunc(all, func(m member) bool { return os.SameFile(m.info, ours) }); i < 0 {
			time.Sleep(time.Duration(n) * time.Millisecond) // it is compressed, being renamed, or removed
			i = slices.IndexFunc(all, s.same)
		}
	}
	var next []member
	if i >= 0 {
		next = all[i+1:]
	} else if i = slices.IndexFunc(all, func(m member) bool { return m.info.ModTime().After(ours.ModTime()) }); i >= 0 {
		next = all[i:]
	}
	next = slices.DeleteFunc(slices.Clone(next), func(m member) bool { return m.info.Size() == 0 })
	was := s.next
	if s.next = nil; len(next) > 0 {
		s.next = &next[0]
	}
	if was == nil && s.next != nil {
		if s.since = s.looked; s.looked.Sub(ours.ModTime()) > 10*s.o.Grace {
			s.since = time.Time{} // it was abandoned long ago
		}
	}
	return nil
}
