package histtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// patience is how long a history is cut down. Small ones take a second.
const patience = time.Minute

// Failure is what a history shows to be wrong.
type Failure = randtest.Failure

// Search says how a random test goes about it.
type Search struct {
	// N and Long are how many histories are tried, by default and with ISOVET_LONG=1; the flag -histories counts
	// instead of either.
	N, Long uint64
	// Make makes the text of a history from a seed.
	Make func(seed uint64) []byte
	// Judge returns what is wrong, a *Failure where it can tell more than that.
	Judge func(text []byte) error
	// Dir is where the smallest history that still fails is written; "": testdata/found.
	Dir string
	// Most is after how many different failures the search ends; 0: one.
	Most int
}

// Run tries histories until one fails, shrinks it, writes it to s.Dir, and fails the test with its seed, its text and
// the file. It returns how many were tried.
func (s Search) Run(t *testing.T) (tried uint64) {
	t.Helper()
	first, n := randtest.Range(Long(s.N, s.Long))
	seen := map[string]bool{}
	for seed := first; seed < first+n; seed++ {
		tried++
		text := s.Make(seed)
		err := s.Judge(text)
		if err == nil {
			continue
		}
		class := ""
		if f, ok := errors.AsType[*Failure](err); ok {
			class = f.Class
		}
		if seen[class] {
			continue
		}
		seen[class] = true
		t.Errorf("%s\n%s", s.report(seed, text, err), randtest.Repeat(t, seed))
		if len(seen) >= max(s.Most, 1) {
			break
		}
	}
	return tried
}

// report shrinks a history that fails, writes it, and says so.
func (s Search) report(seed uint64, text []byte, err error) string {
	f, known := errors.AsType[*Failure](err)
	class, again := "", func(text []byte) bool { return s.Judge(text) != nil }
	if known {
		class = f.Class
		if again = f.Again; again == nil {
			again = func(text []byte) bool {
				f, ok := errors.AsType[*Failure](s.Judge(text))
				return ok && f.Class == class
			}
		}
	}
	end := time.Now().Add(patience)
	small := Shrink(text, func(text []byte) bool { return time.Now().Before(end) && again(text) })
	dir := s.Dir
	if dir == "" {
		dir = filepath.Join("testdata", "found")
	}
	if f == nil { // it may fail in another way by now
		err = errors.Join(err, fmt.Errorf("then: %w", s.Judge(small)))
	}
	return fmt.Sprintf("seed %d: %v\nthe smallest that fails so, %s\n%s", seed, err,
		randtest.Keep(dir, ".jsonl", small), small)
}

// Read reads a history's text as isovet check reads a file.
func Read(text []byte) (*history.History, error) { return jsonl.Read(text, "") }

// Found calls f with every history of a folder, each in a test of its own. The folder must not be empty.
func Found(t *testing.T, dir string, f func(t *testing.T, text []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			f(t, text)
		})
	}
}
