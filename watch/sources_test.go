package watch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/history/format/logline"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestLog: a torn end is dropped; places that are there are not taken again; segments follow one another.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	none := func(int64, []byte) error { return errors.New("a line in an empty log") }
	l := must.Get(openLog(dir, none))(t)
	for i := range int64(5) {
		must.OK(t, put(l, logged(10*i, fmt.Sprint("line ", i))))
	}
	must.OK(t, l.next())
	must.OK(t, put(l, logged(50, "line 5")))
	must.OK(t, l.Close())
	f := must.Get(os.OpenFile(segmentName(dir, 2), os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(f.WriteString("60\tto"))(t)
	f.Close()
	n := 0
	l, err := openLog(dir, func(place int64, line []byte) error {
		must.Equal(t, place != int64(10*n) || string(line) != fmt.Sprint("line ", n), false, "%d %q", place, line)
		n++
		return nil
	})
	if err != nil || n != 6 || l.places.Last() != 50 {
		t.Fatal(err, n)
	}
	must.OK(t, put(l, logged(60, "whole")))
	must.OK(t, l.Close())
	b, err := os.ReadFile(segmentName(dir, 2))
	record := func(place int64, text string) string { return string(logline.Append(nil, place, "", text)) }
	if err != nil || string(b) != record(40, "!from 5")+record(50, "line 5")+record(60, "whole") {
		t.Errorf("%q, %v", b, err)
	}
	for _, x := range []struct {
		behind, want string
		lines        int
	}{
		{"\x00\x00\x00\n70~0123", "", 7}, // of a write that was cut off, some blocks are not there
		{"70~00000000\tline 7\n", "", 7},
		{"70\tline 7\n", "", 7},
		{"\x00\x00\x00\n" + record(70, "line 7"), "segment-00000002.log: byte ", 7},
		{record(70, "line 7"), "", 8},
	} {
		must.OK(t, os.WriteFile(segmentName(dir, 2), []byte(string(b)+x.behind), 0o600))
		lines := 0
		l, err := openLog(dir, func(int64, []byte) error { lines++; return nil })
		if err == nil {
			err = l.Close()
			whole, _ := os.ReadFile(segmentName(dir, 2))
			if whole = whole[len(b):]; lines == 7 && len(whole) > 0 || lines == 8 && string(whole) != x.behind {
				t.Errorf("behind %q there is %q", x.behind, whole)
			}
		}
		if lines != x.lines || (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(),
			x.want) || !strings.Contains(err.Error(), "--accept-loss")) {
			t.Errorf("%q: %d lines, %v; expected %d, %q", x.behind, lines, err, x.lines, x.want)
		}
	}
	must.OK(t, os.WriteFile(segmentName(dir, 1), []byte("0\tline 0\n1"), 0o644))
	if _, err := openLog(dir, func(int64, []byte) error { return nil }); err == nil || !strings.Contains(err.Error(),
		"damaged") {
		t.Errorf("error %v; expected one of the damage", err)
	}
}

// TestFollow: a file that grows, a line whose end comes later.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	s := must.Get(Files(FileOptions{Path: path}, nil))(t)
	defer s.Close()
	write := func(text string) {
		w := bufio.NewWriter(f)
		w.WriteString(text)
		must.OK(t, w.Flush())
	}
	write("one\ntw")
	got, err := s.Next(t.Context(), 10)
	if err != nil || len(got) != 1 || string(got[0].Text) != "one" || got[0].Place != 4 {
		t.Fatal(got, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 60*time.Millisecond) // the rest of the line has not come
	defer stop()
	if got, err = s.Next(ctx, 10); err == nil {
		t.Fatal(got)
	}
	write("o\n")
	if got, err = s.Next(t.Context(), 10); err != nil || len(got) != 1 || string(got[0].Text) != "two" ||
		got[0].Place != 8 {
		t.Fatal(got, err)
	}
	again := must.Get(Files(FileOptions{Path: path, Once: true}, Places{"": 9, got[0].Of: 4}))(t)
	defer again.Close()
	if got, err = again.Next(t.Context(), 10); err != nil || len(got) != 1 || string(got[0].Text) != "two" {
		t.Error(got, err)
	}
	_, err = again.Next(t.Context(), 10)
	must.Equal(t, err, io.EOF, "the end")
}

// openLog opens the log of a folder.
func openLog(dir string, f func(place int64, line []byte) error) (*Log, error) {
	l := &Log{dir: dir}
	line := func(place int64, _ string, line []byte) error { return f(place, line) }
	return l, l.open(Position{}, nil, line, func(text string) error { return errors.New(text) })
}

func logged(place int64, line string) *Batch {
	b := newBatch()
	b.add(Line{Place: place, Text: []byte(line)})
	return b
}

func put(l *Log, b *Batch) error {
	_, err := l.put("", b)
	return err
}

// TestPipeAgain: a file that is read from its beginning again must have the lines of the log; another one is refused
// with its first line that differs, and nothing of it is skipped or judged.
func TestPipeAgain(t *testing.T) {
	line := func(id int) string {
		return fmt.Sprintf(`{"id":%d,"session":0,"start_ts":%d,"commit_ts":%d,"ops":[["w","x",%d]]}`+"\n", id,
			2*id, 2*id+1, id)
	}
	head := `{"format":"isovet-history","version":1,"initial":0}` + "\n"
	first := head + line(1) + line(2) + "\n" + line(3)
	for name, c := range map[string]struct {
		text string
		at   int64 // -1: it goes on
		txns int64
	}{
		"the same":            {first, -1, 3},
		"longer":              {first + line(4), -1, 4},
		"shorter":             {head + line(1), -1, 3},
		"what follows":        {line(4) + line(5), 0, 3},
		"with its own header": {head + line(4), 1, 3},
		"another at the end":  {head + line(1) + line(2) + "\n" + line(4), 4, 3},
	} {
		dir := t.TempDir()
		run := func(text string) (txns int64, err error) {
			var m Metrics
			err = Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 10), Metrics: &m,
				Open: func(context.Context, Places) (Source, error) { return Pipe(strings.NewReader(text), -1), nil }})
			return m.Get().Txns, err
		}
		must.Get(run(first))(t)
		txns, err := run(c.text)
		var other *OtherStreamError
		switch {
		case c.at < 0 && err != nil, c.at >= 0 && (!errors.As(err, &other) || other.Place != c.at):
			t.Errorf("%s: %v", name, err)
		case txns != c.txns:
			t.Errorf("%s: %d transactions; expected %d", name, txns, c.txns)
		}
	}
}

// TestPipeLines: a pipe gives the lines that were written, whatever their lengths, however they are written, and
// however many are taken at once; also a last one without end.
func TestPipeLines(t *testing.T) {
	text, want := make([]byte, 0, 7*pipeRoom), [][2]int(nil) // a line is text[from:to]
	for seed := range uint64(histtest.Long(5, 200)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		text, want := text[:0], want[:0]
		most := []int{10, 1000, 3 * pipeHead, pipeRoom / 2, 2*pipeRoom + 5*pipeHead}[seed%5]
		for n := 0; n < 3*pipeRoom+rng.IntN(pipeRoom) && (len(want) < 50_000 || most > 10); {
			from, letter := len(text), byte('a'+len(want)%26)
			for range rng.IntN(most) {
				text = append(text, letter)
			}
			if len(text) > from { // an empty one is none
				want = append(want, [2]int{from, len(text)})
			}
			text = append(text, '\n')
			n += len(text) - from
		}
		if seed%2 == 0 {
			want = append(want, [2]int{len(text), len(text) + len("the end")})
			text = append(text, "the end"...)
		}
		r, w, err := os.Pipe()
		must.OK(t, err)
		size := []int{7, 4096, 1 << 16, 3 << 20}[seed%4]
		if most > 10 {
			size = max(size, 4096)
		}
		closed := make(chan error, 1)
		go func() {
			for part := range slices.Chunk(text, size) {
				if _, err := w.Write(part); err != nil {
					t.Error(err)
				}
			}
			closed <- w.Close()
		}()
		p := Pipe(r, -1)
		got, place := 0, int64(-1)
		for {
			lines, err := p.Next(t.Context(), 1+rng.IntN(5000))
			if errors.Is(err, io.EOF) {
				break
			}
			must.OK(t, err)
			if rng.IntN(20) == 0 {
				time.Sleep(time.Millisecond) // the pipe fills
			}
			for _, l := range lines {
				if got >= len(want) || !bytes.Equal(l.Text, text[want[got][0]:want[got][1]]) || l.Place <= place {
					t.Fatalf("seed %d: line %d of %d, place %d: %.40q", seed, got, len(want), l.Place, l.Text)
				}
				got, place = got+1, l.Place
			}
		}
		must.Same(t, got, len(want), "seed %d", seed)
		must.OK(t, errors.Join(p.Close(), r.Close(), <-closed))
	}
}
