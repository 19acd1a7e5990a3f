package archtest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// link is a link of Markdown: [text](target), with or without a place behind a #.
var link = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)

// TestLinks: whatever a page of the project links to is there.
func TestLinks(t *testing.T) {
	top := root(t)
	links := 0
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != top && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which is not there", path, target)
			}
		}
		return nil
	})
	must.OK(t, err)
	must.Be(t, links >= 50, "%d links; expected those of the README and the pages of docs", links)
}

var update = flag.Bool("update", false, "write the lines of code that pages link to")

// place is a link to a line of code, whose text is a part of that line: [`func Run`](../replay/engine.go#L154).
var place = regexp.MustCompile("\\[`([^`]+)`\\]\\(([^)#\\s]+\\.go)#L(\\d+)\\)")

// TestPlaces: a line of code that a page links to is there. `go test ./internal/test/archtest -update` writes the
// numbers anew.
func TestPlaces(t *testing.T) {
	pages := must.Get(filepath.Glob(filepath.Join(root(t), "docs", "checkers", "*.md")))(t)
	places := 0
	for _, page := range pages {
		text := must.Get(os.ReadFile(page))(t)
		now := place.ReplaceAllFunc(text, func(link []byte) []byte {
			places++
			m := place.FindSubmatch(link)
			at, err := lineOf(filepath.Join(filepath.Dir(page), filepath.FromSlash(string(m[2]))), m[1])
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
				return link
			}
			return fmt.Appendf(nil, "[`%s`](%s#L%d)", m[1], m[2], at)
		})
		switch {
		case bytes.Equal(now, text):
		case *update:
			must.OK(t, os.WriteFile(page, now, 0o644))
		default:
			t.Errorf("%s links to lines that have moved; run go test ./internal/test/archtest -update", filepath.Base(page))
		}
	}
	if places == 0 {
		t.Error("no page of a checker links to a line of code")
	}
}

// lineOf is the number of the only line of a file that holds a text.
func lineOf(file string, text []byte) (int, error) {
	code, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	at := 0
	for i, line := range bytes.Split(code, []byte("\n")) {
		if !bytes.Contains(line, text) {
			continue
		}
		if at > 0 {
			return 0, fmt.Errorf("%s: lines %d and %d both hold %q", file, at, i+1, text)
		}
		at = i + 1
	}
	if at == 0 {
		return 0, fmt.Errorf("%s: no line holds %q", file, text)
	}
	return at, nil
}

// TestNotices: the third-party notices name the version of each module that go.mod asks for.
func TestNotices(t *testing.T) {
	mod := must.Get(os.ReadFile(filepath.Join(root(t), "go.mod")))(t)
	versions := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(mod), -1) {
		versions[m[1]] = m[2]
	}
	notices := must.Get(os.ReadFile(filepath.Join(root(t), "THIRD_PARTY_NOTICES.md")))(t)
	rows := regexp.MustCompile(`(?m)^\| (\S+) \| (v\d\S*) \| (.+) \|$`).FindAllStringSubmatch(string(notices), -1)
	if len(rows) < 20 {
		t.Fatalf("%d rows of modules", len(rows))
	}
	for _, m := range rows {
		must.Equal(t, m[2], versions[m[1]], "%s in THIRD_PARTY_NOTICES.md (its head says how to make it anew)", m[1])
	}
}
