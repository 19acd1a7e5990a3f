package archtest

import (
	"io/fs"
	"isovet/internal/test/must"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The bounds of a line, in characters (a tab of Go code counts as four), and of a file, in lines.
const (
	maxColumns = 120
	maxLines   = 500
)

// longFiles are files that are longer than maxLines, and why. The list may only shrink.
var longFiles = map[string]string{}

// TestLines: no line of a page or of a Go file is too long to be read in one look, and no Go file has too many.
// Pictures, tables and data beside the pages are not read by people in a terminal, and are left alone. The pages of
// results, with tables as wide as their data, are package bench's.
func TestLines(t *testing.T) {
	top := root(t)
	pages, files := 0, 0
	seen := map[string]bool{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "results") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch ext := filepath.Ext(path); {
		case ext == ".md":
			pages++
		case ext == ".go":
			files++
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if long := tooLong(string(text), filepath.Ext(path) == ".go"); len(long) > 0 {
			t.Errorf("%s: lines %v have more than %d columns", rel, long, maxColumns)
		}
		if n := strings.Count(string(text), "\n"); n > maxLines && filepath.Ext(path) == ".go" {
			seen[rel] = true
			must.Be(t, longFiles[rel] != "", "%s has %d lines, more than %d", rel, n, maxLines)
		}
		return nil
	})
	must.OK(t, err)
	must.Be(t, pages >= 50 && files >= 500, "%d pages and %d Go files; the test looks in the wrong place", pages, files)
	for name := range longFiles {
		must.Be(t, seen[name], "%s is excused and not too long", name)
	}
}

// tooLong lists the lines that are too long, from 1. Of Go code those do not count that hold, or stand in, a text
// between
// backquotes: histories and the like, whose lines are what they are.
func tooLong(text string, code bool) []int {
	var long []int
	n, quoted := 0, false
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if code {
			was := quoted
			if ticks := strings.Count(line, "`"); ticks%2 == 1 && !strings.HasPrefix(strings.TrimLeft(line, "\t"), "//") {
				quoted = !quoted
			}
			if was || strings.Contains(line, "`") {
				continue
			}
		}
		if utf8.RuneCountInString(line)+3*strings.Count(line, "\t") > maxColumns {
			long = append(long, n)
		}
	}
	return long
}

// TestTooLong: the test of lines can fail.
func TestTooLong(t *testing.T) {
	text := strings.Repeat("ä", 120) + "\n" + strings.Repeat("a", 121) + "\n\t" + strings.Repeat("a", 116) + "\r\n\t" +
		strings.Repeat("a", 117)
	if got := tooLong(text, false); !slices.Equal(got, []int{2, 4}) {
		t.Errorf("lines %v are too long; want 2 and 4", got)
	}
}
