package histtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// Long is [randtest.Long].
func Long[T any](short, long T) T {
	return randtest.Long(short, long)
}

// OnlyLong skips a test, and says so, where ISOVET_LONG does not ask for it: .ci/nightly does.
func OnlyLong(t *testing.T) {
	t.Helper()
	if !Long(false, true) {
		t.Skip("SKIPPED, NOTHING TESTED: it takes long; ISOVET_LONG=1 asks for it")
	}
}

// Whole reports whether the flags leave a test all its histories. What a test demands of their mix is meant only then.
func Whole() bool { return randtest.Whole() }

// Mix is [randtest.Mix].
func Mix(t testing.TB, bad bool, format string, args ...any) {
	t.Helper()
	randtest.Mix(t, bad, format, args...)
}

// Each judges n random histories: those of the seeds from 0 on, or from the flag -seed on, as many as the flag
// -histories says where it is given. A judge reports to t as any test does. What it is to vary (levels, options) it
// takes from the seed. Where make returns nil there is no history of that seed.
//
// The first history that fails is cut down to the smallest that fails at the same line of the judge, and written to the
// folder testdata/found/TestName, whose histories every run judges before all others, with the seed that stands in
// their header as "turn". The failure has its text.
func Each(t *testing.T, n uint64, make func(seed uint64) *history.History,
	judge func(t testing.TB, seed uint64, h *history.History)) {
	t.Helper()
	s := Search{
		Dir: filepath.Join("testdata", "found", filepath.FromSlash(t.Name())),
		Judge: func(text []byte) error {
			h, err := Read(text)
			if err != nil {
				return nil // not a history: it does not fail
			}
			return try(t, turn(text), h, judge)
		},
	}
	files := must.Get(filepath.Glob(filepath.Join(s.Dir, "*.jsonl")))(t)
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		if err := s.Judge(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	first, n := randtest.Range(n)
	if t.Failed() {
		t.FailNow()
	}
	for seed := first; seed < first+n; seed++ {
		h := make(seed)
		if h == nil {
			continue
		}
		err := try(t, seed, h, judge)
		if err == nil {
			continue
		}
		text, werr := written(h, seed)
		if werr == nil && s.Judge(text) == nil {
			werr = errors.New("it does not fail once it is written and read")
		}
		message := fmt.Sprintf("seed %d: %v\nnot cut down: %v\n%s", seed, err, werr, text)
		if werr == nil {
			message = s.report(seed, text, err)
		}
		t.Fatalf("%s\n%s", message, randtest.Repeat(t, seed))
	}
}

// written is a history as text, with the seed in its header.
func written(h *history.History, seed uint64) ([]byte, error) {
	var b bytes.Buffer
	if err := jsonl.Write(&b, h); err != nil {
		return nil, err
	}
	d, err := parse(b.Bytes())
	if err != nil {
		return nil, err
	}
	if len(d.lines) == 0 || d.lines[0]["format"] == nil {
		d.lines = append([]map[string]any{{"format": "isovet-history", "version": 1}}, d.lines...)
	}
	d.lines[0]["turn"] = seed
	return d.text(), nil
}

// turn is the number in the header of a history by which a test chooses among its variants; 0 where there is none.
func turn(text []byte) uint64 {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var head struct {
		Turn uint64 `json:"turn"`
	}
	if json.Unmarshal(line, &head) != nil {
		return 0
	}
	return head.Turn
}

// try judges a history, and returns a *Failure whose class is the line that found it wrong.
func try(t *testing.T, seed uint64, h *history.History, judge func(testing.TB, uint64, *history.History)) error {
	return randtest.Try(t, func(t testing.TB) { judge(t, seed, h) })
}
