// Package racing has tests for the race detector that import next to nothing: what they import is compiled anew for it.
package racing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/record"
)

// TestManySessions records a serializable store behind a mutex from many goroutines, in memory and to a file. Each
// transaction reads a key and writes it, so that no two read the same version.
func TestManySessions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl")
	file, err := record.Create(path, record.Options{})
	must.OK(t, err)
	for _, rec := range []*record.Recorder{record.New(record.Options{}), file} {
		readModifyWrite(t, rec)
		var h *history.History
		if rec == file {
			must.OK(t, rec.Close())
			b, err2 := os.ReadFile(path)
			must.OK(t, err2)
			h, err = jsonl.ReadPartial(t.Context(), b, path, 2)
		} else {
			h, err = rec.History()
		}
		must.OK(t, err)
		chained(t, h)
	}
}

func readModifyWrite(t *testing.T, rec *record.Recorder) {
	var mu sync.Mutex
	store := map[string]any{}
	var all sync.WaitGroup
	for i := range 8 {
		s := rec.SessionOn(fmt.Sprintf("n%d", i%2))
		all.Go(func() {
			for n := range 200 {
				key := fmt.Sprint("k", n%3)
				x := s.Begin("rmw")
				mu.Lock()
				_, err := x.ReadWith(key, func() (any, error) { return store[key], nil })
				v := 1 + n*8 + i
				err = errors.Join(err, x.WriteWith(key, v, func() error { store[key] = v; return nil }))
				mu.Unlock()
				if err := errors.Join(err, x.Commit(func() error { return nil })); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// chained fails where two transactions read one version, or where one reads a version that nobody wrote.
func chained(t *testing.T, h *history.History) {
	written, read := map[uint32]bool{}, map[uint32]bool{}
	for i, v := range h.Ops.Ver {
		switch {
		case h.Ops.Kind[i] == history.Write:
			written[v] = true
		case read[v]:
			t.Errorf("two transactions read version %d", v)
		default:
			read[v] = true
		}
	}
	initial := 0
	for v := range read {
		if !written[v] {
			initial++
		}
	}
	if len(read) != 1600 || initial > 3 {
		t.Errorf("%d versions read, %d of which nobody wrote; want 1600, and one a key", len(read), initial)
	}
}
