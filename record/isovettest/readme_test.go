package isovettest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestReadme follows docs/recording.md's section on go test to the letter, in an empty folder: a failing test with a
// shrunk history, in at most 40 lines of user's code.
func TestReadme(t *testing.T) {
	histtest.OnlyLong(t) // it builds a program
	page := must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "recording.md")))(t)
	_, section, _ := strings.Cut(string(page), "\n## In go test\n")
	section, _, _ = strings.Cut(section, "\n## ")
	top := must.Get(filepath.Abs(filepath.Join("..", "..")))(t)
	before, rest, _ := strings.Cut(section, "\n```go\n")
	code, after, ok := strings.Cut(rest, "\n```\n")
	file := regexp.MustCompile("Let `(\\w+\\.go)` be").FindStringSubmatch(before)
	must.Hold(t, ok && file != nil, "no code, or no name for it, in\n%s", section)
	if n := strings.Count(code, "\n") + 1; n > 40 {
		t.Errorf("%d lines of code", n)
	}
	dir := t.TempDir()
	run := func(text string) (out string, last error) {
		for _, m := range regexp.MustCompile(`(?m)^    \$ go (.*)$`).FindAllStringSubmatch(text, -1) {
			if last != nil {
				t.Fatalf("before go %s: %v\n%s", m[1], last, out)
			}
			c := exec.Command("go", strings.Fields(strings.ReplaceAll(m[1], "/path/to/isovet", top))...)
			c.Dir = dir
			c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "ISOVET_SEED=", "ISOVET_ARTIFACTS="+dir)
			b, err := c.CombinedOutput()
			out, last = out+string(b), err
		}
		return out, last
	}
	if out, err := run(before); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must.OK(t, os.WriteFile(filepath.Join(dir, file[1]), []byte(code+"\n"), 0o644))
	out, err := run(after)
	must.Hold(t, err != nil, "the test does not fail:\n%s", out)
	if few := regexp.MustCompile("400 transactions violate serializable; so do [23] of them:"); !few.MatchString(out) {
		t.Errorf("not cut down to two or three in\n%s", out)
	}
	for _, want := range []string{"lost-update", "a contradiction", "ISOVET_SEED=", "small.jsonl"} {
		must.Be(t, strings.Contains(out, want), "no %q in\n%s", want, out)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if n := strings.Count(string(mod), "// indirect"); err != nil || n > 5 {
		t.Errorf("%v: the user's go.mod names %d modules beside isovet:\n%s", err, n, mod)
	}
}
