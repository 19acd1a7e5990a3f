package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// reading is a source of files that is closed and opened again now and then, as by restarts.
type reading struct {
	t     *testing.T
	o     FileOptions
	src   Source
	after Places
	got   []string
}

func readFiles(t *testing.T, o FileOptions) *reading {
	r := &reading{t: t, o: o, after: Places{}}
	t.Cleanup(func() {
		if r.src != nil {
			r.src.Close()
		}
	})
	return r
}

// until reads until there are n lines, or nothing comes for a while.
func (r *reading) until(n int) {
	r.t.Helper()
	if r.src == nil {
		var err error
		if r.src, err = Files(r.o, r.after); err != nil {
			r.t.Fatal(err)
		}
	}
	for len(r.got) < n {
		ctx, stop := context.WithTimeout(r.t.Context(), 3*time.Second)
		lines, err := r.src.Next(ctx, 7)
		stop()
		if err != nil {
			f := r.src.(*files)
			r.t.Fatalf("after %d of %d lines: %v; in %s at %d, named %s, next %v", len(r.got), n, err,
				f.f.Name(), f.at, f.name, f.next)
		}
		for _, l := range lines {
			if l.Place <= r.after.Of(l.Of) {
				r.t.Fatalf("line %.40q at %d of %s comes after one at %d", l.Text, l.Place, l.Of, r.after.Of(l.Of))
			}
			r.after.set(l.Of, l.Place)
			r.got = append(r.got, string(l.Text))
		}
	}
}

func (r *reading) restart() {
	if r.src != nil {
		r.src.Close()
		r.src = nil
	}
}

// TestRotation: a file is renamed, copied and cut off, and compressed, at random, while it is read and while nobody
// reads; every line comes once, in its order.
func TestRotation(t *testing.T) {
	var said bytes.Buffer
	for seed := range uint64(histtest.Long(6, 300)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		path := filepath.Join(dir, "txns.jsonl")
		pattern := seed%3 == 2
		o := FileOptions{Path: path, Grace: time.Millisecond, Log: slog.New(slog.NewTextHandler(&said, nil))}
		if pattern {
			o.Path = filepath.Join(dir, "txns*")
		}
		old := time.Now().Add(-24 * time.Hour)
		f := must.Get(os.Create(path))(t)
		r := readFiles(t, o)
		r.until(0)
		var want []string
		write := func() {
			for range 1 + rng.IntN(200) {
				line := fmt.Sprintf(`{"id":%d,"pad":"%s"}`, len(want), strings.Repeat("x", rng.IntN(100)))
				want = append(want, line)
				must.Get(f.WriteString(line + "\n"))(t)
			}
		}
		shift := func() { // .1 to .2 …
			for n := 20; n > 0; n-- {
				for _, ext := range []string{"", ".gz", ".zst"} {
					from, to := fmt.Sprintf("%s.%d%s", path, n, ext), fmt.Sprintf("%s.%d%s", path, n+1, ext)
					if _, err := os.Stat(from); err == nil {
						must.OK(t, os.Rename(from, to))
					}
				}
			}
		}
		stamp := func(name string) {
			old = old.Add(time.Minute)
			must.OK(t, os.Chtimes(name, old, old))
		}
		for range 12 {
			first := len(want) // of this file
			write()
			reads := rng.IntN(3) > 0
			if reads {
				r.until(len(want) - rng.IntN(20))
			}
			if len(r.after) > 0 && rng.IntN(3) == 0 {
				r.restart()
				reads = false
			}
			shift()
			switch kind := rng.IntN(3); {
			case kind == 0 && reads && len(r.got) > first: // copied and cut off, after it has been seen
				must.OK(t, os.WriteFile(path+".1", must.Get(os.ReadFile(path))(t), 0o600))
				must.OK(t, f.Close())
				f = must.Get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0))(t)
			default:
				must.OK(t, os.Rename(path, path+".1"))
				must.OK(t, f.Close())
				f = must.Get(os.Create(path))(t)
			}
			stamp(path + ".1")
			if text, err := os.ReadFile(path + ".2"); err == nil {
				info := must.Get(os.Stat(path + ".2"))(t)
				name, packed := path+".2.gz", gzipped(text)
				if rng.IntN(2) == 0 {
					name, packed = path+".2.zst", zstded(text)
				}
				must.OK(t, os.WriteFile(name, packed, 0o600))
				must.OK(t, os.Remove(path+".2"))
				must.OK(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
			}
		}
		write()
		r.until(len(want))
		f.Close()
		must.Equal(t, len(r.got), len(want), "seed %d: lines", seed)
		for i, line := range want {
			must.Equal(t, r.got[i], line, "seed %d: line %d\n%s", seed, i, &said)
		}
		must.Equal(t, len(r.after), 1, "the files whose places are kept")
		r.restart()
		r.src = must.Get(Files(FileOptions{Path: o.Path, Once: true}, r.after))(t)
		lines, err := r.src.Next(t.Context(), 10)
		must.Equal(t, err, io.EOF, "%d lines after the last", len(lines))
	}
}

// TestCutOff: a file that is cut off without a copy is read from its beginning, and that is reported; so is one that is
// gone.
func TestCutOff(t *testing.T) {
	var said bytes.Buffer
	path := filepath.Join(t.TempDir(), "f")
	must.OK(t, os.WriteFile(path, []byte("one\ntwo\n"), 0o600))
	r := readFiles(t, FileOptions{Path: path, Grace: time.Millisecond, Log: slog.New(slog.NewTextHandler(&said, nil))})
	r.until(2)
	must.OK(t, os.WriteFile(path, []byte("three and\nmore than there was\n"), 0o600))
	r.until(4)
	must.Equal(t, strings.Contains(said.String(), "truncated"), true, "it was said: %s", &said)
	r.restart()
	said.Reset()
	must.OK(t, os.WriteFile(path, []byte("another\n"), 0o600))
	r.until(5)
	must.Equal(t, strings.Contains(said.String(), "is missing"), true, "it was said: %s", &said)
	r.restart()
	must.OK(t, os.WriteFile(path+".1", []byte("another\nthat is lost\n"), 0o600))
	must.OK(t, os.Chtimes(path+".1", time.Time{}, time.Unix(1, 0)))
	must.OK(t, os.WriteFile(path, []byte("another\nnext\n"), 0o600))
	r.until(6)
	must.Equal(t, strings.Contains(said.String(), "two files begin as the one"), true, "it was said: %s", &said)
	looking := r.src.(*files) // the next file is renamed between the look at the folder and its beginning
	must.OK(t, os.Rename(path, path+".2"))
	must.OK(t, os.WriteFile(path, []byte("five\n"), 0o600))
	must.OK(t, looking.look())
	looking.since = time.Time{}
	must.OK(t, os.Rename(path, path+".1"))
	must.OK(t, os.WriteFile(path, []byte("six\n"), 0o600))
	r.until(8)
	must.OK(t, errors.Join(os.Truncate(path, 0), os.Remove(path)))
	time.AfterFunc(700*time.Millisecond, func() { os.WriteFile(path, []byte("seven\n"), 0o600) })
	r.until(9)
	want := []string{"one", "two", "three and", "more than there was", "another", "next", "five", "six", "seven"}
	must.Equal(t, fmt.Sprint(r.got), fmt.Sprint(want), "lines")
	half := gzipped([]byte("one\ntwo\nth")) // it is still being written
	must.OK(t, os.WriteFile(path+".gz", half[:5], 0o600))
	r = readFiles(t, FileOptions{Path: path + ".gz", Grace: time.Millisecond})
	for n, text := range [][]byte{half[:5], half[:len(half)-8], append(half, gzipped([]byte("ree\nfour\n"))...)} {
		must.OK(t, os.WriteFile(path+".gz", text, 0o600))
		r.until(2 * n)
	}
	must.OK(t, os.WriteFile(path+".gz", half[:len(half)-8], 0o600))
	r = readFiles(t, FileOptions{Path: path + ".gz", Once: true})
	r.until(2)
	_, err := r.src.Next(t.Context(), 1)
	must.Equal(t, err, io.EOF, "the end of a part of a line")
	headed := filepath.Join(t.TempDir(), "h") // it is cut off, and has the same header and more bytes
	r = readFiles(t, FileOptions{Path: headed, Grace: time.Millisecond})
	for n, text := range []string{"head\n", "head\none\n", "head\nsix\nseven\n"} {
		must.OK(t, os.WriteFile(headed, []byte(text), 0o600))
		r.until([]int{1, 2, 5}[n])
	}
	grown := filepath.Join(t.TempDir(), "n") // just before the next file
	must.OK(t, os.WriteFile(grown+"1.gz", gzipped([]byte("one\n")), 0o600))
	r = readFiles(t, FileOptions{Path: grown + "*", Grace: time.Hour})
	r.until(1)
	must.OK(t, os.WriteFile(grown+"1.gz", append(gzipped([]byte("one\n")), gzipped([]byte("two\n"))...), 0o600))
	must.OK(t, os.WriteFile(grown+"2.gz", gzipped([]byte("three\n")), 0o600))
	r.until(3)
	idle := r.src.(*files)
	must.OK(t, idle.look())
	was := idle.looked
	_, _, err = idle.ended(t.Context(), idle.at)
	must.Equal(t, idle.looked, was, "an idle file needs few looks at its folder (%v)", err)
	ctx, stop := context.WithCancel(t.Context())
	must.OK(t, errors.Join(os.WriteFile(grown+"3.gz", gzipped([]byte("four\n")), 0o600), idle.look()))
	stop()
	_, err = idle.Next(ctx, 1)
	must.Equal(t, err, context.Canceled, "what Next says between files when it has to end")
}

// TestAmidst: a file is rotated between a look at the folder and what watch does then; each line comes once.
func TestAmidst(t *testing.T) {
	var said bytes.Buffer
	write := func(name, text string) { must.OK(t, os.WriteFile(name, []byte(text), 0o600)) }
	path, head := filepath.Join(t.TempDir(), "f"), strings.Repeat("h", 5000)
	write(path, head+"\none\n")
	r := readFiles(t, FileOptions{Path: path, Grace: time.Millisecond, Log: slog.New(slog.NewTextHandler(&said, nil))})
	r.until(2)
	write(path+".9", head+"\none\ntwo\n") // copied, truncated, and written again with the same header
	write(path, head+"\n333\nfour\n")
	r.until(6)
	s := r.src.(*files)
	must.OK(t, os.Rename(path, path+".8"))
	write(path, "five\n")
	must.OK(t, s.look())
	s.since = time.Time{}
	write(path+".7", "five\n") // it is copied and truncated before watch begins it
	write(path, "six\n")
	r.until(8)
	write(path+".6", "six\nseven\n")
	write(path, "10th\n") // its last byte stands behind what was read
	r.until(10)
	s.grow([]byte("un"))
	must.OK(t, os.Rename(path, path+".5"))
	write(path+".5", "10th\nunfinished\n") // a line is completed before the next file begins
	write(path, "last\n")
	must.OK(t, s.look())
	s.since = time.Time{}
	line, _, err := s.ended(t.Context(), s.at)
	must.Equal(t, string(line.Text), "", "the part of a line (%v)", err)
	must.OK(t, s.from(s.at))
	r.until(12)
	must.Equal(t, strings.ReplaceAll(strings.Join(r.got, " "), head, "h"),
		"h one two h 333 four five six seven 10th unfinished last", "lines")
	s.poll = 300 * time.Millisecond
	write(path+".4", "last\n") // find looks again until the copied file is truncated
	time.AfterFunc(50*time.Millisecond, func() { os.Truncate(path, 0) })
	same, _, err := s.find()
	must.Equal(t, same[len(same)-1].path, path+".4", "the copy (%v)", err)
	must.Equal(t, strings.Contains(said.String(), "lost"), false, "it was said: %s", &said)
	write(path, "copied\n") // it is not truncated yet
	write(path+".3", "copied\n")
	r.restart()
	r.o.Once, r.o.Grace = true, time.Hour
	r.until(13)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	lines, err := r.src.Next(ctx, 1)
	must.Equal(t, len(lines), 0, "lines that came twice (%v)", err)
}

// TestLongLine: a line beyond all bounds does not fill memory; those behind it come.
func TestLongLine(t *testing.T) {
	defer bounds.Set("watch.maxLine", 2<<20)()
	path := filepath.Join(t.TempDir(), "f")
	f := must.Get(os.Create(path))(t)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range maxLine>>20 + 5 {
		must.Get(f.Write(piece))(t)
	}
	must.Get(f.WriteString("\nnext\n"))(t)
	must.OK(t, f.Close())
	s := must.Get(Files(FileOptions{Path: path, Once: true}, nil))(t)
	defer s.Close()
	var got []Line
	for {
		lines, err := s.Next(t.Context(), 1)
		if errors.Is(err, io.EOF) {
			break
		}
		must.OK(t, err)
		got = append(got, lines...)
	}
	if len(got) != 2 || len(got[0].Text) != leftOfLong || string(got[1].Text) != "next" ||
		got[1].Place != got[0].Place+5 || got[0].Place != int64(maxLine>>20+5)<<20+1 {
		t.Errorf("%d lines; the first at %d, the last at %d", len(got), got[0].Place, got[len(got)-1].Place)
	}
}

// TestFileBound: where a file may not grow (ulimit -f), the error names the file and says what to do.
func TestFileBound(t *testing.T) {
	_, lines := arrivals(t, 7, 200)
	var n atomic.Int32 // of two goroutines
	dir := t.TempDir()
	err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 300),
		disk: func() error {
			if n.Add(1) > 4 {
				return &os.PathError{Op: "write", Path: "there", Err: syscall.EFBIG}
			}
			return nil
		},
		Open: pipeOf(bytes.NewReader(join(lines)))})
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "ulimit -f") {
		t.Errorf("%v; expected the file and what to do", err)
	}
}
