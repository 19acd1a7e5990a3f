package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"isovet/internal/test/must"
)

var update = flag.Bool("update", false, "write the pages of bench/results anew from their JSON")

// resultFiles are the raw results of figures, at either scale.
func resultFiles() (out []string, err error) {
	for _, pattern := range []string{"results/*/*.json", "results/full/*/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// madeResult is a result and what is made of it: pages, charts and CSV, by their files.
type madeResult struct {
	file  string
	r     *Report
	files map[string][]byte
}

// results are all, made once.
var results = sync.OnceValues(func() (out []madeResult, err error) {
	files, err := resultFiles()
	for _, file := range files {
		r, err := LoadReport(file)
		if err != nil {
			return nil, err
		}
		made, err := r.files(strings.TrimSuffix(file, ".json"))
		if err != nil {
			return nil, err
		}
		out = append(out, madeResult{file, r, made})
	}
	return out, err
})

// shownFigure is the figure to which docs/checkers/vbox.md leads; the others' pages are not in the repository.
const shownFigure = "results/vbox/memory"

// TestPages: a page and charts can be made of each result, and no line but a table's is too long. Those of shownFigure
// are what is made; -update writes all, with CSV.
func TestPages(t *testing.T) {
	all := must.Get(results())(t)
	if len(all) < 20 {
		t.Fatalf("%d results", len(all))
	}
	for _, x := range all {
		file, r := x.file, x.r
		for word := range strings.FieldsSeq(r.Command) {
			if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") || strings.Contains(word, "=/") {
				t.Errorf("%s: the command names a path of a machine, %s", file, word)
			}
		}
		for name, want := range x.files {
			if *update {
				must.OK(t, os.WriteFile(name, want, 0o644))
			} else if strings.HasPrefix(name, shownFigure) {
				if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s is not what is made of %s (%v): make figures", name, file, err)
				}
			}
			for line := range strings.Lines(string(want)) {
				n := utf8.RuneCountInString(line) - 1
				if n > pageColumns && strings.HasSuffix(name, ".md") && line[0] != '|' {
					t.Errorf("%s has a line of %d columns: %s", name, n, line)
				}
			}
		}
	}
}

// TestAddingAnEncoding: what the page shows is the example that is compiled and run, and short.
func TestAddingAnEncoding(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/adding-an-encoding.md"))(t)
	code := must.Get(os.ReadFile("example_test.go"))(t)
	_, rest, ok := strings.Cut(string(page), "```go\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed || block != string(code) {
		t.Errorf("docs/adding-an-encoding.md does not show bench/example_test.go as it is")
	}
	if n := strings.Count(string(code), "\n"); n > 80 {
		t.Errorf("the example has %d lines, more than 80", n)
	}
}
