package archtest

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// stable are the packages whose API others may rely on.
var stable = []string{"history", "history/format", "level", "check", "evidence", "report", "record",
	"record/isovettest"}

// TestStability: the documentation of every package that others can import says whether they may rely on it, and those
// that they may rely on have examples.
func TestStability(t *testing.T) {
	top, seen := root(t), 0
	for dir := range packages(t) {
		if strings.HasPrefix(dir, "internal/") || strings.HasPrefix(dir, "cmd/") {
			continue
		}
		files := must.Get(filepath.Glob(filepath.Join(top, filepath.FromSlash(dir), "*.go")))(t)
		doc, example := "", false
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				example = example || bytes.Contains(must.Get(os.ReadFile(path))(t), []byte("\nfunc Example"))
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.PackageClauseOnly)
			must.OK(t, err)
			if f.Doc != nil {
				doc += f.Doc.Text()
			}
		}
		if doc == "" && strings.Contains(dir, "testdata") {
			continue
		}
		seen++
		want := "\nExperimental: this package may still change.\n"
		if slices.Contains(stable, dir) {
			want = "\nStable: this package's API changes only with a new major version.\n"
			must.Be(t, example, "package %s has no example", dir)
		}
		if !strings.Contains(doc, want) {
			t.Errorf("the documentation of package %s does not say %q", dir, strings.TrimSpace(want))
		}
	}
	must.Be(t, seen >= 30, "%d packages", seen)
}
