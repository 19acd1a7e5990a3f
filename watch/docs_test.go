package watch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMeasured: the commands by which docs/watch.md measures its promises name tests that there are, and each test of
// watch that measures in hours what it does in seconds otherwise is among them.
func TestMeasured(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "watch.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "## How each promise is measured")
	part, _, _ = strings.Cut(part, "\n## ")
	tests := func(pkg string) (names []string) {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(t `).FindAllSubmatch(b, -1) {
				names = append(names, string(m[1]))
			}
		}
		return names
	}
	rows := regexp.MustCompile(`(?m)^    go test (?:-run '\^\$' -bench|-run) '(.+)' (?:-benchtime 1x )?(\./\S+) `).FindAllStringSubmatch(part, -1)
	if len(rows) < 20 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		pattern, err := regexp.Compile(row[1])
		if err != nil {
			t.Errorf("%s: %v", row[1], err)
			continue
		}
		all := tests(row[2])
		inner := regexp.MustCompile(`^\^(?:Test|Benchmark)(\w*)\((.*)\)\$?$`).FindStringSubmatch(pattern.String())
		if inner == nil {
			if !slices.ContainsFunc(all, pattern.MatchString) {
				t.Errorf("%s has no test %s", row[2], pattern)
			}
			continue
		}
		for _, name := range strings.Split(inner[2], "|") { // each of the names
			one := regexp.MustCompile(strings.Replace(pattern.String(), inner[2], name, 1))
			if !slices.ContainsFunc(all, one.MatchString) {
				t.Errorf("%s has no test %s", row[2], one)
			}
		}
	}
}
