package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"isovet/certify/large"
	"isovet/check/spill"
	"isovet/contrib/beam/run"
	"isovet/history"
	"isovet/history/split"
	"isovet/internal/test/histtest/random"
	"isovet/level"
)

func init() {
	// Fails as often as its shared argument says, in whatever process.
	Register("test fail first", func(_ context.Context, c *Call) ([]byte, error) {
		n, _ := strconv.Atoi(string(c.Shared))
		for i := range n {
			name := filepath.Join(c.Dir, fmt.Sprintf("failed-%s-%d", c.Args, i))
			f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil {
				f.Close()
				return nil, fmt.Errorf("attempt %d of %s fails", i, c.Args)
			}
		}
		return c.Args, nil
	})
}

// TestFailFirst: tasks that fail the first times are done again, as often as was said, and what was done is not.
func TestFailFirst(t *testing.T) {
	ctx := context.Background()
	engines(t, func(t *testing.T, e *Engine) {
		e.Attempts = 3
		got, err := e.Do(ctx, "test fail first", []byte("2"), args(1))
		if err != nil || string(bytes.Join(got, nil)) != "0" {
			t.Errorf("%q, %v", got, err)
		}
		e.Dir = t.TempDir()
		if _, err = e.Do(ctx, "test fail first", []byte("4"), args(1)); err == nil {
			t.Error("no error of a task that fails more often than it is tried")
		}
		if got, err = e.Do(ctx, "test fail first", []byte("4"), args(1)); err != nil || string(got[0]) != "0" {
			t.Errorf("asked again, what was given up is not done: %q, %v", got, err)
		}
	})
}

// dieIn names, for workers, a folder of marks: of each kind of task one worker is killed, when it has done all of its
// work but for the answer, and leaves a mark.
const dieIn = "ISOVET_TEST_DIE_IN"

func mortal() {
	marks := os.Getenv(dieIn)
	if marks == "" {
		return
	}
	for do, f := range funcs {
		funcs[do] = func(ctx context.Context, c *Call) ([]byte, error) {
			b, err := f(ctx, c)
			mark, merr := os.OpenFile(filepath.Join(marks, do), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if merr != nil {
				return b, err
			}
			fmt.Fprint(mark, os.Getpid())
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				p.Kill()
			}
			select {}
		}
	}
}

// files are those of a folder, with what is in them.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// TestSameFiles: whoever does a task writes the same files with the same bytes, so that it may be done twice: in this
// process, in others, and where of each kind of task one was killed in it, and another one did its work again.
func TestSameFiles(t *testing.T) {
	n := uint64(1)
	if os.Getenv("ISOVET_LONG") != "" {
		n = 20
	}
	died := map[string]bool{}
	for seed := range n {
		sameFiles(t, seed, died)
	}
	for _, do := range []string{"map", "replay", "writers", "gather", "solve"} {
		if !died[do] {
			t.Errorf("nobody died of %q", do)
		}
	}
}

func sameFiles(t *testing.T, seed uint64, died map[string]bool) {
	ctx := context.Background()
	h := random.Medium(5+seed, random.Options{Txns: 300})
	set := parts(t, seed, h)
	in, err := spill.Of(set)
	if err != nil {
		t.Fatal(err)
	}
	o := spill.Options{Level: []level.Level{level.StrictSerializable, level.SnapshotIsolation}[seed%2], Parts: 3,
		Memory: 64 << 20}
	work := func(workers int) (dir, said string) {
		r := &run.Runner{Name: "prism", Workers: workers, Stderr: os.Stderr}
		defer r.Close()
		e := &Engine{Runner: r, Dir: filepath.Join(t.TempDir(), "work")}
		o.Backend = &Backend{Engine: e, Set: set}
		a, err := spill.Check(ctx, in, o)
		if err != nil {
			t.Fatal(err)
		}
		var cert bytes.Buffer
		if err := a.WriteCertificate(&cert, "h"); err != nil {
			t.Fatal(err)
		}
		source := &large.Source{Name: set.Name, Txns: set.Txns, Each: func(ctx context.Context,
			f func(*history.History, int64) error) error {
			return set.Each(ctx, func(b *split.Batch) error { return f(b.H, b.First) })
		}}
		got, err := large.Verify(ctx, &cert, source, large.Options{Memory: 1 << 20,
			Dir: filepath.Join(t.TempDir(), "verify")})
		if err != nil || got.Refuted != nil {
			t.Fatalf("%v, %v", got, err)
		}
		return e.Dir, shown(t, a)
	}
	dir, want := work(0)
	there := files(t, dir)
	for _, kill := range []bool{false, true} {
		if kill {
			marks := t.TempDir()
			t.Setenv(dieIn, marks)
			defer func() {
				os.Unsetenv(dieIn)
				for do := range files(t, marks) {
					died[do] = true
				}
			}()
		}
		dir, said := work(2)
		if said != want {
			t.Errorf("killed: %v:\n%s\nwant\n%s", kill, said, want)
		}
		got := files(t, dir)
		for name, b := range there {
			if got[name] != b {
				t.Errorf("killed: %v: %s: %d bytes, in this process %d", kill, name, len(got[name]), len(b))
			}
			delete(got, name)
		}
		for name := range got {
			// What a worker left that was killed: Clean removes it.
			if ok, _ := filepath.Match(".part-*", name); !ok && !strings.HasPrefix(name, "failure-") {
				t.Errorf("killed: %v: %s is too much", kill, name)
			}
		}
	}
}
