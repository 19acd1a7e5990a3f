package watch

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestLock: a folder is one process's; who waits for it gets it when that ends.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(lock(t.Context(), dir, false))(t)
	err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 10), Open: pipeOf(strings.NewReader(""))})
	var e *LockedError
	if !errors.As(err, &e) || e.PID != os.Getpid() || !strings.Contains(err.Error(), "--standby") {
		t.Errorf("error %v; expected that the folder is this process's", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*standbyEvery)
	defer stop()
	if _, err := lock(ctx, dir, true); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v; expected to wait for ever", err)
	}
	go func() {
		time.Sleep(2 * standbyEvery)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	g := must.Get(lock(t.Context(), dir, true))(t)
	must.OK(t, g.Close())
}
