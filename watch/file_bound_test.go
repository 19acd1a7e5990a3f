package watch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

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
		Open: func(_ context.Context, after Places) (Source, error) {
			return Pipe(bytes.NewReader(join(lines)), after.Last()), nil
		}})
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), "ulimit -f") {
		t.Errorf("%v; expected the file and what to do", err)
	}
}
