package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/contrib/beam/run"
	"isovet/history"
)

func TestMain(m *testing.M) {
	mortal()
	run.Worker(os.Args[1:])
	if len(os.Args) == 2 && os.Args[1] == "prism" {
		if err := run.Prism(0, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func init() {
	Register("test double", func(_ context.Context, c *Call) ([]byte, error) {
		return append(append(append([]byte{}, c.Shared...), c.Args...), c.Args...), nil
	})
	Register("test bad input", func(_ context.Context, c *Call) ([]byte, error) {
		return nil, &history.InputError{File: string(c.Args), Line: 3, Off: -1, Field: "k", Msg: "wrong"}
	})
	Register("test panic", func(_ context.Context, c *Call) ([]byte, error) { panic("ouch") })
	Register("test no disk", func(_ context.Context, c *Call) ([]byte, error) { return nil, errors.New("no disk") })
	// Dies the first time, as a worker that is killed.
	Register("test die once", func(_ context.Context, c *Call) ([]byte, error) {
		mark := filepath.Join(c.Dir, "died")
		if string(c.Args) == "1" {
			if _, err := os.Stat(mark); err != nil {
				os.WriteFile(mark, []byte(strconv.Itoa(os.Getpid())), 0o644)
				os.Exit(9)
			}
		}
		return c.Args, nil
	})
	Register("test emit", func(_ context.Context, c *Call) ([]byte, error) {
		n, _ := strconv.Atoi(string(c.Args))
		if mark := filepath.Join(c.Dir, "died"); string(c.Shared) == "die" && n == 1 {
			if _, err := os.Stat(mark); err != nil {
				c.Emit(0, nil, []byte("lost"))
				os.WriteFile(mark, nil, 0o644)
				os.Exit(9)
			}
		}
		for i := range 3 {
			if err := c.Emit((n+i)%4, []byte("h"), fmt.Appendf(nil, "%d.%d", n, i)); err != nil {
				return nil, err
			}
		}
		return c.Args, nil
	})
}

// engines are those that tests go through: in this process, and with two processes.
func engines(t *testing.T, f func(t *testing.T, e *Engine)) {
	for _, workers := range []int{0, 2} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			r := &run.Runner{Name: "prism", Workers: workers, Stderr: os.Stderr}
			defer r.Close()
			f(t, &Engine{Runner: r, Dir: t.TempDir()})
		})
	}
}

func args(n int) (all [][]byte) {
	for i := range n {
		all = append(all, []byte(strconv.Itoa(i)))
	}
	return all
}

func TestDo(t *testing.T) {
	ctx := context.Background()
	engines(t, func(t *testing.T, e *Engine) {
		in := append(args(20), bytes.Repeat([]byte("long"), maxInline))
		got, err := e.Do(ctx, "test double", []byte("s"), in)
		if err != nil {
			t.Fatal(err)
		}
		for i, g := range got {
			if want := "s" + string(in[i]) + string(in[i]); string(g) != want {
				t.Errorf("answer %d is %.20q, want %.20q", i, g, want)
			}
		}
		// What was answered is not asked again, and everything can be removed.
		e.Runner = nil
		if again, err := e.Do(ctx, "test double", []byte("s"), in[:20]); err != nil || string(again[7]) != "s77" {
			t.Errorf("%q, %v", again, err)
		}
		if err := e.Clean(ctx); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(e.Dir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// TestErrors: what comes from the input is the same error here as it was there; what may pass is tried again, and said.
func TestErrors(t *testing.T) {
	ctx := context.Background()
	engines(t, func(t *testing.T, e *Engine) {
		e.Attempts = 2
		_, err := e.Do(ctx, "test bad input", nil, [][]byte{[]byte("f.jsonl")})
		var in *history.InputError
		if !errors.As(err, &in) || in.Error() != `f.jsonl:3: field "k": wrong` {
			t.Errorf("%v", err)
		}
		_, err = e.Do(ctx, "test panic", nil, args(1))
		var p *Panic
		if !errors.As(err, &p) || !strings.Contains(p.Text, "ouch") {
			t.Errorf("%v", err)
		}
		if _, err = e.Do(ctx, "test no disk", nil, args(1)); err == nil || err.Error() != "no disk" {
			t.Errorf("%v", err)
		}
	})
}

// lostMetrics reports whether Prism failed because it read the metrics of a worker that was just dying.
func lostMetrics(err error) bool {
	return err != nil && strings.Contains(err.Error(), "decoding metrics")
}

// TestDeath: a worker that dies in the middle changes nothing.
func TestDeath(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := &run.Runner{Name: "prism", Workers: 2, Stderr: os.Stderr}
	defer r.Close()
	e := &Engine{Runner: r, Dir: t.TempDir()}
	got, err := e.Do(ctx, "test die once", nil, args(8))
	for n := 0; n < 3 && lostMetrics(err); n++ {
		e.Dir = t.TempDir()
		got, err = e.Do(ctx, "test die once", nil, args(8))
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(bytes.Join(got, nil)) != "01234567" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(e.Dir, "died")); err != nil {
		t.Error("nobody died")
	}
}

func TestShuffle(t *testing.T) {
	ctx := context.Background()
	want := func(t *testing.T, e *Engine, shared string) {
		answers, _, name, err := e.Shuffle(ctx, "test emit", []byte(shared), args(6))
		for n := 0; n < 3 && lostMetrics(err); n++ {
			e.Dir = t.TempDir()
			answers, _, name, err = e.Shuffle(ctx, "test emit", []byte(shared), args(6))
		}
		if err != nil {
			t.Fatal(err)
		}
		if string(bytes.Join(answers, nil)) != "012345" {
			t.Errorf("%q", answers)
		}
		for part := range 5 {
			p, err := OpenPartition(ctx, e.Dir, name, part)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]byte
			for _, c := range p.Chunks {
				b, err := c.Read(nil)
				if err != nil || string(c.Head) != "h" || c.Bytes != len(b) {
					t.Fatalf("%q with head %q, %v", b, c.Head, err)
				}
				got = append(got, b)
			}
			p.Close()
			var want []string
			for n := range 6 {
				for i := range 3 {
					if (n+i)%4 == part {
						want = append(want, fmt.Sprintf("%d.%d", n, i))
					}
				}
			}
			if string(bytes.Join(got, []byte(" "))) != strings.Join(want, " ") {
				t.Errorf("partition %d has %q, want %q", part, got, want)
			}
		}
	}
	engines(t, func(t *testing.T, e *Engine) {
		want(t, e, "")
		e.Dir, e.Grouped = t.TempDir(), true
		want(t, e, "")
	})
	r := &run.Runner{Name: "prism", Workers: 2, Stderr: os.Stderr}
	defer r.Close()
	for _, grouped := range []bool{false, true} {
		t.Run(fmt.Sprintf("death, grouped=%v", grouped), func(t *testing.T) {
			e := &Engine{Runner: r, Dir: t.TempDir(), Grouped: grouped}
			want(t, e, "die")
			if _, err := os.Stat(filepath.Join(e.Dir, "died")); err != nil {
				t.Error("nobody died")
			}
		})
	}
}
