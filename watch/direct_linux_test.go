package watch

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestDirect: a log whose parts go around the cache of pages, or not, as they come, has what was put into it, whether
// it is read by its file or from the disk; also where parts are taken back, segments end, and the log is opened again
// in between.
func TestDirect(t *testing.T) {
	defer func(was int) { directLeast = was }(directLeast)
	directLeast = 2 * directBlock
	defer func(was int64) { segmentBytes = was }(segmentBytes)
	segmentBytes = 5 << 20
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	var want []byte
	l := &Log{dir: dir}
	again := func() (lines int) {
		var got []byte
		if err := l.open(Position{}, nil, func(_ int64, _ string, line []byte) error {
			got = append(append(got, line...), '\n')
			lines++
			return nil
		}, func(string) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, and %d were written", len(got), len(want))
		}
		return lines
	}
	again()
	used, place := 0, int64(0)
	for n := range 60 {
		b := newBatch()
		b.reset(l.at.Lines)
		var text []byte
		for size := rng.IntN([]int{100, 50_000, 2 * directRoom}[n%3]); len(text) <= size; place++ {
			line := bytes.Repeat([]byte{byte('a' + place%26)}, 1+rng.IntN(3000))
			text = append(append(text, line...), '\n')
			b.add(Line{Place: place, Text: line})
		}
		b.seal()
		if n%7 == 3 { // half of it is there when it is known that there is no room for the rest
			was := l.at
			l.disk.fail = func() error { return syscall.ENOSPC }
			if _, err := l.put("", b); !isFull(err) || l.at != was {
				t.Fatalf("%v, at %+v; expected a full disk, at %+v", err, l.at, was)
			}
			l.disk.fail = nil
		}
		if l.direct.f != nil && len(b.logged()) > 2*directLeast {
			used++
		}
		control := ""
		if n%5 == 0 {
			control = controlClock + "1"
		}
		if _, err := l.put(control, b); err != nil {
			t.Fatal(err)
		}
		want = append(want, text...)
		if n%9 == 8 {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = &Log{dir: dir}
			again()
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = &Log{dir: dir}
	lines := again()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d lines in %d segments, %d parts around the cache", lines, l.at.Segment, used); used == 0 {
		t.Skip("the file system of temporary files is not one that is written so")
	}
}

// TestDirectRefused: where the disk does not take whole blocks as they are, they are written the usual way.
func TestDirectRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	refuses, err := os.OpenFile(name, os.O_RDONLY, 0) // any error will do
	if err != nil {
		t.Fatal(err)
	}
	d := direct{f: refuses}
	text := bytes.Repeat([]byte("x"), directLeast)
	if n, err := d.write(f, 0, text); n != 0 || !errors.Is(err, syscall.EBADF) {
		t.Fatalf("%d bytes, %v; expected what is wrong with the file", n, err)
	}
	refuses.Close()
	if d.f, err = os.OpenFile(name, os.O_WRONLY|syscall.O_DIRECT, 0); err != nil {
		t.Skip("no file is opened so here")
	}
	d.buf = make([]byte, directRoom+1)[1:] // as a disk with larger blocks would have it
	n, err := d.write(f, 0, text)
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 && d.f != nil {
		t.Error("it is tried again")
	}
	d.close()
}
