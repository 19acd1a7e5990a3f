package histtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
)

// Long returns long where ISOVET_LONG=1 asks for the long form of the tests, else short.
func Long[T any](short, long T) T {
	if os.Getenv("ISOVET_LONG") != "" {
		return long
	}
	return short
}

// Each judges n random histories: those of the seeds from 0 on, or from the flag -seed on, as many as the flag
// -histories says where it is given. A judge reports to t as any test does. What it is to vary (levels, options) it
// takes
// from the seed.
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
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Judge(text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if *countFlag > 0 {
		n = *countFlag
	}
	for seed := *seedFlag; seed < *seedFlag+n && !t.Failed(); seed++ {
		h := make(seed)
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
		t.Errorf("%s\n%s", message, repeat(t, seed))
	}
}

// repeat is the command that judges one history of a test again.
func repeat(t *testing.T, seed uint64) string {
	parts := strings.Split(t.Name(), "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return fmt.Sprintf("repeat with: go test -run '%s' -seed %d -histories 1", strings.Join(parts, "/"), seed)
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

// probe is a test that keeps what its judge says instead of failing.
type probe struct {
	testing.TB
	class string // where it failed first; "": it has not
	said  strings.Builder
}

// stop is what a probe panics with where a test would end.
type stop struct{}

func (p *probe) fail(message string) {
	if p.class == "" {
		_, file, line, _ := runtime.Caller(2)
		p.class = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	p.said.WriteString(strings.TrimSuffix(message, "\n") + "\n")
}

func (p *probe) Helper()                           {}
func (p *probe) Log(args ...any)                   {}
func (p *probe) Logf(format string, args ...any)   {}
func (p *probe) Failed() bool                      { return p.class != "" }
func (p *probe) Fail()                             { p.fail("failed") }
func (p *probe) FailNow()                          { p.fail("failed"); panic(stop{}) }
func (p *probe) Error(args ...any)                 { p.fail(fmt.Sprintln(args...)) }
func (p *probe) Errorf(format string, args ...any) { p.fail(fmt.Sprintf(format, args...)) }
func (p *probe) Fatal(args ...any)                 { p.fail(fmt.Sprintln(args...)); panic(stop{}) }
func (p *probe) Fatalf(format string, args ...any) {
	p.fail(fmt.Sprintf(format, args...))
	panic(stop{})
}

// try judges a history, and returns a *Failure whose class is the line that found it wrong.
func try(t *testing.T, seed uint64, h *history.History, judge func(testing.TB, uint64, *history.History)) (err error) {
	p := &probe{TB: t}
	defer func() {
		if r := recover(); r != nil && r != (stop{}) {
			p.class = "panic"
			fmt.Fprintf(&p.said, "panic: %v\n%s", r, debug.Stack())
		}
		if p.class != "" {
			err = &Failure{Class: p.class, Err: errors.New(strings.TrimSpace(p.said.String()))}
		}
	}()
	judge(p, seed, h)
	return nil
}
