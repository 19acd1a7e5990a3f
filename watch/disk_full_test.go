package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestDiskFull: where writes fail for want of room, a part of them done, nothing is lost and nothing comes twice: the
// log and the violations are, byte for byte, those of a run with room enough. It is reported once each time.
func TestDiskFull(t *testing.T) {
	defer func(was int64) { segmentBytes = was }(segmentBytes)
	segmentBytes = 30_000
	defer func(was time.Duration) { fullEvery = was }(fullEvery)
	fullEvery = 10 * time.Millisecond
	_, lines := arrivals(t, 7, 1500)
	run := func(dir string, fail func() error, log io.Writer) {
		err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 300), Checkpoint: 20 * time.Millisecond, disk: fail,
			Log: slog.New(slog.NewTextHandler(log, nil)),
			Open: func(_ context.Context, after Places) (Source, error) {
				s := Pipe(bytes.NewReader(join(lines)), after.Last())
				return endless{s, false, ""}, nil
			}})
		must.OK(t, err)
	}
	once, again := t.TempDir(), t.TempDir()
	run(once, nil, io.Discard)
	var said bytes.Buffer
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(1, 1))
	full, n := 0, 0
	run(again, func() error { // of two goroutines
		mu.Lock()
		defer mu.Unlock()
		if n++; n%15 == 0 {
			full = 1 + rng.IntN(2)
		}
		if full--; full >= 0 {
			return &os.PathError{Op: "write", Path: "there", Err: syscall.ENOSPC}
		}
		return nil
	}, &said)
	if got, want := content(t, again), content(t, once); got != want {
		t.Errorf("%d bytes of lines and violations, %d where there was room", len(got), len(want))
	}
	if a, b := strings.Count(said.String(), "the disk is full"),
		strings.Count(said.String(), "the disk has free space again"); a < 3 ||
		a != b {
		t.Errorf("said %d times that the disk is full, %d times that it is not any more:\n%s", a, b, said.String())
	}
}

// TestHTTPFull: a request whose lines find no room is refused, so are others, and are taken when there is room.
func TestHTTPFull(t *testing.T) {
	var full atomic.Bool
	addr := make(chan string, 1)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var m Metrics
	go func() {
		done <- Run(ctx, Config{Dir: t.TempDir(), Judge: aionOf(si, 300), Metrics: &m,
			disk: func() error {
				if full.Load() {
					return syscall.ENOSPC
				}
				return nil
			},
			Open: func(_ context.Context, after Places) (Source, error) {
				s, err := ListenHTTP(HTTPOptions{Addr: "127.0.0.1:0"})
				if err != nil {
					return nil, err
				}
				src := s.Source(after)
				addr <- s.Addr()
				return src, nil
			}})
	}()
	url := "http://" + <-addr
	send := func(n int) (int, string) {
		body := fmt.Sprintf(`{"id":%d,"session":1,"start_ts":%d,"commit_ts":%d,"ops":[["w","x",%d]]}`, n, 10*n, 10*n+1, n)
		code, _, after := post(t, http.DefaultClient, url, []byte(body), FromHeader, fmt.Sprint(n))
		return code, after
	}
	if code, _ := send(0); code != http.StatusOK {
		t.Fatal(code)
	}
	full.Store(true)
	for range 3 {
		if code, after := send(1); code != http.StatusServiceUnavailable || after == "" {
			t.Fatalf("status %d, Retry-After %q", code, after)
		}
	}
	must.Equal(t, m.Get().DiskFull, true, "the metrics say that the disk is full")
	full.Store(false)
	for n := 1; n < 4; {
		code, _ := send(n)
		if code == http.StatusOK {
			n++
		} else if code != http.StatusServiceUnavailable {
			t.Fatal(code)
		}
	}
	for until := time.Now().Add(10 * time.Second); m.Get().Lines < 4 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	stop()
	if err := <-done; ctx.Err() == nil {
		t.Fatal(err)
	}
	s := m.Get()
	must.Equal(t, fmt.Sprint(s.Lines, s.Txns), "4 4", "lines and transactions of %+v", s)
}

// TestTmpfs: the same on a file system that is really full, for a while.
func TestTmpfs(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root can mount a small tmpfs, on Linux: the disk is not really full here")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("mount: %v: %s: the disk is not really full here", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	}()
	_, lines := arrivals(t, 8, 1500)
	must.Hold(t, len(join(lines)) >= 150_000, "too few")
	ballast := filepath.Join(dir, "ballast")
	must.OK(t, os.WriteFile(ballast, make([]byte, 1_990_000), 0o644))
	var m Metrics
	freed := make(chan struct{})
	go func() {
		defer close(freed)
		for !m.Get().DiskFull {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}()
	state, roomy := filepath.Join(dir, "w"), t.TempDir()
	for _, dir := range []string{state, roomy} {
		err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 400), Metrics: &m,
			Open: pipeOf(bytes.NewReader(join(lines)))})
		must.OK(t, err)
	}
	<-freed
	if got, want := content(t, state), content(t, roomy); got != want {
		t.Errorf("%d bytes of lines and violations, %d where there was room", len(got), len(want))
	}
}

// content is what a folder has: its lines, but for those that depend on where segments begin, and the violations.
func content(t *testing.T, dir string) string {
	t.Helper()
	list, err := segments(dir)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	var all, out []byte
	for _, x := range list {
		in := must.Get(openSegment(dir, x.n, 0))(t)
		text, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	b := violationsOf(t, dir)
	for line := range bytes.Lines(append(all, b...)) {
		if !bytes.Contains(line, []byte("\t!from ")) {
			out = append(out, line...)
		}
	}
	return string(out)
}
