package watch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"isovet/internal/bounds"
)

// FileOptions are the options of a source of files.
type FileOptions struct {
	// Path is a growing file, or a pattern (filepath.Match) for a sequence of files.
	Path string
	// Once ends the source after the last file, instead of waiting for more lines.
	Once bool
	// Grace is how long a file may still grow after the next file appeared; 0 means a second.
	Grace time.Duration
	Log   *slog.Logger
	// Context, if set, ends a search for the file of the log's last line, and the way to a place in a compressed file.
	Context context.Context
}

// files reads the lines of a growing file and follows its rotation. When another file takes its place, files reads the
// rest of the old one, even if that was renamed, copied or compressed, and then the later files. The place of a line
// is the offset of its end in the decompressed file. Line.Of names the file: "@", its number among the files read, and
// the length and hash of its beginning, by which it is found under another name.
type files struct {
	o      FileOptions
	f      *os.File
	in     *bufio.Reader
	undo   func() // frees the decoder
	packed bool
	size   int64     // of the file when its reading began
	opened time.Time // when the place in it was found
	number int       // of the file, from 1; 0: none yet
	at     int64     // behind the last line
	known  int64     // bytes of its beginning in sum
	sum    uint64
	name   string
	part   []byte // the beginning of an unfinished line
	cut    int64  // bytes of a too long line that part lacks
	poll   time.Duration
	// at its end
	looked time.Time // last look at the folder; without a file: when the last one was truncated
	next   *member   // the next file
	looks  int       // looks in a row that found a file which was renamed before its opening
	since  time.Time // when it was first seen
	damage error     // of a compressed file; its writer may still complete it
	told   bool      // damage was reported
	Losses
}

const (
	// headBytes is the length of a file's beginning that identifies it.
	headBytes = 64 << 10
	// leftOfLong is the length to which a line longer than maxLine is cut. The rest is dropped; it is no transaction.
	leftOfLong = 1 << 10
)

var maxLine = 64 << 20

func init() { bounds.Register("watch.maxLine", &maxLine) }

// Files returns a source of the lines of one or several growing files, after the lines in the log. It returns an error
// if it cannot read a file.
func Files(o FileOptions, after Places) (Source, error) {
	o.Log, o.Grace = loud(o.Log), cmp.Or(max(o.Grace, 0), time.Second)
	o.Context = cmp.Or(o.Context, context.Background())
	s := &files{o: o, poll: 20 * time.Millisecond}
	if err := s.resume(after); err != nil {
		return nil, err
	}
	return s, nil
}

// resume finds the file that had the log's last line.
func (s *files) resume(after Places) error {
	for name, place := range after {
		number, known, sum, ok := parseFileName(name)
		if !ok {
			continue
		}
		s.number, s.known, s.sum, s.name, s.at = number, known, sum, name, place
		same, all, err := s.find()
		if n := len(same); n > 0 {
			if err = s.open(same[n-1], place); s.again(err) {
				return s.resume(after) // it was renamed meanwhile
			}
			return err
		} else if err != nil {
			return err
		}
		s.lose("the file is missing, and the lines that watch had not read are lost; watch goes on with the "+
			"oldest file that is left", "path", s.o.Path, "read", place)
		return s.begin(all)
	}
	if lines := after[""]; lines > 0 {
		s.o.Log.Warn("the log has lines of a pipe, or of isovet 0.1.0; watch reads the file from its beginning",
			"path", s.o.Path)
	}
	if isPattern(s.o.Path) {
		all, err := members(s.o.Path)
		if err != nil {
			return err
		}
		return s.begin(all)
	}
	st, err := os.Stat(s.o.Path)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: this is not a regular file; expected one, or - for a pipe", s.o.Path)
	}
	if err != nil {
		return err
	}
	return s.begin([]member{{s.o.Path, st, packedName().MatchString(s.o.Path)}})
}

// lose warns that lines are lost.
func (s *files) lose(why string, where ...any) {
	s.Lose()
	s.o.Log.Warn(why, where...)
}

// again reports whether a file was renamed before its opening, so that another look finds it. It gives up after ten
// looks, as where a file system gives a file another identity each time.
func (s *files) again(err error) bool {
	if !os.IsNotExist(err) || s.looks > 9 {
		return false
	}
	s.looks++
	time.Sleep(s.poll)
	return true
}

// begin begins the first file, if there is one. If it was renamed meanwhile, nothing changes.
func (s *files) begin(all []member) error {
	if len(all) == 0 {
		return nil // wait for it
	}
	if err := s.open(all[0], 0); (s.f != nil || !s.o.Once) && s.again(err) {
		return nil
	} else if err != nil {
		return err
	}
	s.number++
	s.known, s.sum, s.name = 0, 0, ""
	return nil
}

func (s *files) open(m member, at int64) error {
	f, err := m.open()
	if err != nil {
		return err
	}
	s.shut()
	s.f, s.packed, s.undo, s.looks = f, m.packed, func() {}, 0
	return s.from(at)
}

// from reads on at a place. A compressed file is decompressed again from its beginning.
func (s *files) from(at int64) error {
	s.undo()
	s.part, s.cut, s.next, s.looked, s.damage, s.told, s.undo = nil, 0, nil, time.Time{}, nil, false, func() {}
	seek := at
	if s.packed {
		seek = 0
	}
	st, err := s.f.Stat()
	if err == nil {
		_, err = s.f.Seek(seek, io.SeekStart)
	}
	if err != nil {
		return err
	}
	in, undo, err := unpacked(s.f, s.packed)
	if err != nil {
		return fmt.Errorf("%s: %w", s.f.Name(), err)
	}
	s.in, s.undo, s.at, s.size = bufio.NewReaderSize(in, 1<<16), undo, at, st.Size()
	to := stoppable{s.in, func() bool { return s.o.Context.Err() != nil }}
	if _, err := io.CopyN(io.Discard, to, at-seek); err != nil && !isEnd(err) {
		return fmt.Errorf("%s: %w", s.f.Name(), err)
	}
	s.opened = time.Now()
	return nil
}

func (s *files) shut() {
	if s.f != nil {
		s.undo()
		s.f.Close()
		s.f = nil
	}
}

// called returns the name of the current file for Line.Of.
func (s *files) called() string {
	if s.known >= min(headBytes, s.at) && s.name != "" {
		return s.name
	}
	head, err := headOf(s.f.Name(), s.f, s.packed, headBytes)
	if err == nil && s.begins(head) {
		s.know(head)
	} else if s.name == "" {
		s.name = fileName(s.number, 0, 0)
	}
	return s.name // if this failed, the end of the file looks at it again
}

func (s *files) know(head []byte) {
	s.known, s.sum = int64(len(head)), xxhash.Sum64(head)
	s.name = fileName(s.number, s.known, s.sum)
}

func fileName(number int, known int64, sum uint64) string {
	return "@" + strconv.Itoa(number) + "." + strconv.FormatInt(known, 10) + "." + strconv.FormatUint(sum, 36)
}

func parseFileName(name string) (number int, known int64, sum uint64, ok bool) {
	part := strings.Split(strings.TrimPrefix(name, "@"), ".")
	if len(part) != 3 || !strings.HasPrefix(name, "@") {
		return 0, 0, 0, false
	}
	number, e1 := strconv.Atoi(part[0])
	known, e2 := strconv.ParseInt(part[1], 10, 64)
	sum, e3 := strconv.ParseUint(part[2], 36, 64)
	return number, known, sum, e1 == nil && e2 == nil && e3 == nil && known >= 0 && known <= headBytes
}

// Next waits for a line, and returns it with the following lines that are complete.
func (s *files) Next(ctx context.Context, most int) ([]Line, error) {
	var out []Line
	size, from := 0, s.at
	give := func() ([]Line, error) { // the bytes read are valid if the file has not been cut off
		if cut, err := s.cutOff(from); cut || err != nil {
			out, size, from = nil, 0, s.at
			return nil, err
		}
		return s.named(out), nil
	}
	for {
		if s.f == nil {
			if end, err := s.wait(ctx); end || err != nil {
				return nil, cmp.Or(err, io.EOF)
			}
			continue
		}
		text, err := s.in.ReadSlice('\n')
		if err == nil || len(text) > 0 {
			s.grow(text)
		}
		switch {
		case err == nil:
			if line := s.whole(); len(line.Text) > 0 {
				out, size = append(out, line), size+len(line.Text)
			}
			if len(out) >= most || size >= pipeRoom {
				if out, err := give(); out != nil || err != nil {
					return out, err
				}
			}
		case errors.Is(err, bufio.ErrBufferFull):
		case len(out) > 0:
			if out, err := give(); out != nil || err != nil {
				return out, err
			}
		default:
			if err != io.EOF && s.damage == nil {
				if !s.packed {
					return nil, err
				}
				s.damage = err
			}
			line, end, err := s.ended(ctx, from)
			from = s.at
			switch {
			case len(line.Text) > 0:
				return []Line{line}, nil
			case cmp.Or(err, ctx.Err()) != nil:
				return nil, cmp.Or(err, ctx.Err())
			case end:
				return nil, io.EOF
			}
		}
	}
}

// grow appends to the current line.
func (s *files) grow(text []byte) {
	if s.cut > 0 || len(s.part)+len(text) > maxLine {
		if s.cut == 0 {
			s.cut = int64(len(s.part)) - leftOfLong
			s.part = append([]byte(nil), s.part[:leftOfLong]...)
		}
		s.cut += int64(len(text))
		if len(text) > 0 && text[len(text)-1] == '\n' {
			s.part = append(s.part, '\n')
			s.cut--
		}
		return
	}
	s.part = append(s.part, text...)
}

// whole returns the finished line, without the file's name.
func (s *files) whole() Line {
	s.at += int64(len(s.part)) + s.cut
	line := Line{Place: s.at, Text: s.part}
	if n := len(line.Text); n > 0 && line.Text[n-1] == '\n' {
		line.Text = line.Text[:n-1]
	}
	s.part, s.cut = nil, 0
	return line
}

func (s *files) named(out []Line) []Line {
	name := s.called()
	for i := range out {
		out[i].Of = name
	}
	return out
}

func (s *files) Done() error { return nil }

func (s *files) Close() error {
	s.shut()
	return nil
}
