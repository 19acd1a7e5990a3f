package bench

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"isovet/internal/test/must"
)

var update = flag.Bool("update", false, "write the pages of bench/results anew from their JSON")

// resultFiles are the raw results of figures, at either scale.
func resultFiles() ([]string, error) { return globs("json") }

func globs(ending string) (out []string, err error) {
	for _, folder := range []string{"results/*/*.", "results/full/*/*."} {
		files, err := filepath.Glob(folder + ending)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// TestPages: the pages of bench/results are what WriteText makes of the results beside them, and no line is too long.
func TestPages(t *testing.T) {
	files, err := resultFiles()
	if err != nil || len(files) < 20 {
		t.Fatalf("%d results, %v", len(files), err)
	}
	drawn := map[string]bool{}
	for _, file := range files {
		r := must.Get(LoadReport(file))(t)
		for word := range strings.FieldsSeq(r.Command) {
			if strings.HasPrefix(word, "/") || strings.HasPrefix(word, "~") || strings.Contains(word, "=/") {
				t.Errorf("%s: the command names a path of a machine, %s", file, word)
			}
		}
		var want bytes.Buffer
		if err := r.WriteText(&want, true); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		page := strings.TrimSuffix(file, ".json") + ".md"
		if *update {
			must.OK(t, os.WriteFile(page, want.Bytes(), 0o644))
		}
		got, err := os.ReadFile(page)
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s is not what is made of %s (%v): go test ./bench -run TestPages -update", page, file, err)
		}
		for _, m := range r.fig.Metrics {
			path := filepath.Join(filepath.Dir(file), r.chartName(m))
			drawn[path] = r.charted(m)
			if !r.charted(m) {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s has nothing to show", path)
				}
				continue
			}
			svg := must.Get(r.chart(m))(t)
			if *update {
				must.OK(t, os.WriteFile(path, svg, 0o644))
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, svg) {
				t.Errorf("%s is not what is drawn from %s (%v): go test ./bench -run TestPages -update", path, file,
					err)
			}
		}
		for line := range strings.Lines(want.String()) {
			if n := utf8.RuneCountInString(line) - 1; n > pageColumns {
				t.Errorf("%s has a line of %d columns: %s", page, n, line)
			}
		}
	}
	charts := must.Get(globs("svg"))(t)
	for _, c := range charts {
		if !drawn[c] && *update {
			if err := os.Remove(c); err != nil {
				t.Error(err)
			}
		} else if !drawn[c] {
			t.Errorf("%s is of no result", c)
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
