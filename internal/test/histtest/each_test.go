package histtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
)

// TestReport: the history of a judge that fails at writes by seed 7 is cut down to one write, written with the seed in
// its header, and fails when it is read again.
func TestReport(t *testing.T) {
	judge := func(t testing.TB, seed uint64, h *history.History) {
		for op := range uint32(h.NumOps()) {
			must.Hold(t, seed != 7 || h.Ops.Kind[op] != history.Write, "a write by seed %d", seed)
		}
	}
	s := Search{Dir: t.TempDir(), Judge: func(text []byte) error {
		h, err := Read(text)
		if err != nil {
			return nil
		}
		return try(t, turn(text), h, judge)
	}}
	text := must.Get(written(random.Medium(7, random.Options{Txns: 20}), 7))(t)
	message := s.report(7, text, s.Judge(text))
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %v", files, err)
	}
	small := must.Get(os.ReadFile(files[0]))(t)
	key := regexp.MustCompile(`"k\d\d"`)
	small = key.ReplaceAll(small, []byte(`"k"`))
	message = key.ReplaceAllString(message, `"k"`)
	want := `{"format":"isovet-history","version":1,"turn":7}` + "\n" + `{"ops":[["w","k",0]]}` + "\n"
	if string(small) != want || !strings.Contains(message, want) || s.Judge(small) == nil {
		t.Errorf("written\n%s\nwant\n%s\nsaid %s", small, want, message)
	}
}
