package archtest

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"isovet/internal/test/must"
)

// module is the path in go.mod, which .ci/setpath changes.
var module = func() string {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "module "))
}()

// pkg is a package of the module: what its files import, tests aside. Tests may look at everything.
type pkg struct {
	path    string // below the module
	imports []string
}

func root(t *testing.T) string {
	dir := must.Get(os.Getwd())(t)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// packages are all, as their files say, whatever their build tags.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	return must.Get(parsed())(t)
}

var parsed = sync.OnceValues(func() (map[string]*pkg, error) {
	top := filepath.Join("..", "..", "..")
	all := map[string]*pkg{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); path != top && (n == "testdata" || strings.HasPrefix(n, ".") || strings.HasPrefix(n,
				"_")) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != top && err == nil {
				return filepath.SkipDir // another module: what it imports is its own affair
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		p := all[name]
		if p == nil {
			p = &pkg{path: name}
			all[name] = p
		}
		if strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range f.Imports {
			s, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				return err
			}
			if s == module || strings.HasPrefix(s, module+"/") {
				s = strings.TrimPrefix(strings.TrimPrefix(s, module), "/")
				if !slices.Contains(p.imports, s) {
					p.imports = append(p.imports, s)
				}
			}
		}
		return nil
	})
	return all, err
})

func (r room) names() []string { return strings.Fields(r.packages) }

func floorOf(path string) int {
	return slices.IndexFunc(floors, func(f []room) bool {
		return slices.ContainsFunc(f, func(r room) bool { return anyMatches(r.names(), path) })
	})
}

func matches(pattern, path string) bool {
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(path, below+"/")
	}
	return pattern == path
}

func anyMatches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

func mayImport(from, to string) bool {
	a, b := floorOf(from), floorOf(to)
	return b < a || a == b && slices.ContainsFunc(alongFloor, func(r along) bool {
		return matches(r.from, from) && matches(r.to, to)
	})
}

// TestEveryPackageHasAFloor: a new package goes into the table, a removed one out of it.
func TestEveryPackageHasAFloor(t *testing.T) {
	all := packages(t)
	for path := range all {
		if floorOf(path) < 0 {
			t.Errorf("package %s is not in the table of floors (internal/test/archtest/floors.tsv)", path)
		}
	}
	seen := map[string]bool{}
	for _, r := range slices.Concat(floors...) {
		must.Be(t, r.purpose != "", "%s has no purpose", r.packages)
		for _, path := range r.names() {
			if all[path] == nil && !strings.HasSuffix(path, "/*") {
				t.Errorf("the table of floors names %s, which is not there", path)
			}
			must.Be(t, !seen[path], "the table of floors names %s twice", path)
			seen[path] = true
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	for _, p := range packages(t) {
		for _, im := range p.imports {
			if floorOf(p.path) < 0 || floorOf(im) < 0 {
				continue // the other test says so
			}
			if !mayImport(p.path, im) {
				t.Errorf("%s (floor %d) imports %s (floor %d); a package imports lower floors only",
					p.path, floorOf(p.path), im, floorOf(im))
			}
		}
	}
}

func TestNarrowPackages(t *testing.T) {
	for _, p := range packages(t) {
		for _, im := range p.imports {
			if allowed, ok := narrow[p.path]; ok && !anyMatches(allowed, im) {
				t.Errorf("%s imports %s; it may import %q only", p.path, im, allowed)
			}
			if from, ok := importers[im]; ok && !anyMatches(from, p.path) {
				t.Errorf("%s imports %s, which only %q may", p.path, im, from)
			}
		}
	}
}

// TestRulesCatch breaks each kind of rule on paper: a test that cannot fail proves nothing.
func TestRulesCatch(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"check", "history", true},
		{"history", "check", false},
		{"history", "level", false},
		{"internal/graph/order", "internal/graph", true},
		{"internal/graph", "internal/graph/order", false},
		{"history/format", "history/format/jsonl", true},
		{"history/format/jsonl", "history/format", false},
		{"solver/gini", "solver", true},
		{"solver", "solver/gini", false},
		{"cmd/isovet", "cmd/bench", false},
		{"internal/cli", "internal/test/histtest/random", false}, // tests only
	} {
		must.Equal(t, mayImport(c.from, c.to), c.want, "mayImport(%s, %s)", c.from, c.to)
	}
	if anyMatches(narrow["certify"], "check/prepass") || !anyMatches(narrow["certify"], "evidence") {
		t.Error("the narrow rule of certify does not bite")
	}
}

// TestReasons: every exception says why.
func TestReasons(t *testing.T) {
	for _, r := range alongFloor {
		must.Be(t, r.why != "", "%s → %s is allowed without a reason", r.from, r.to)
	}
}

// TestImportersAreReal: who may import a package, and does not, stands in the table for nothing.
func TestImportersAreReal(t *testing.T) {
	all := packages(t)
	for to, from := range importers {
		for _, pattern := range from {
			used := false
			for _, p := range all {
				used = used || matches(pattern, p.path) && slices.Contains(p.imports, to)
			}
			must.Be(t, used, "%s may import %s, and does not", pattern, to)
		}
	}
	for from, tos := range narrow {
		p := all[from]
		if p == nil {
			t.Errorf("%s may import less than its layer, and is no package", from)
			continue
		}
		for _, to := range tos {
			must.Be(t, slices.Contains(p.imports, to), "%s may import %s, and does not", from, to)
		}
	}
}

// TestGoroutines finds go statements, and sync.WaitGroup's or errgroup's way to start one.
func TestGoroutines(t *testing.T) {
	top := root(t)
	seen := map[string]bool{}
	for dir := range packages(t) {
		files := must.Get(filepath.Glob(filepath.Join(top, filepath.FromSlash(dir), "*.go")))(t)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			src := must.Get(os.ReadFile(path))(t)
			if !bytes.Contains(src, []byte("go ")) && !bytes.Contains(src, []byte("Go(")) {
				continue
			}
			set := token.NewFileSet()
			f := must.Get(parser.ParseFile(set, path, src, parser.SkipObjectResolution))(t)
			name := dir + "/" + filepath.Base(path)
			safe := slices.ContainsFunc(f.Imports,
				func(i *ast.ImportSpec) bool { return i.Path.Value == `"isovet/internal/safego"` }) &&
				!slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
					return strings.HasSuffix(i.Path.Value, `/errgroup"`)
				})
			ast.Inspect(f, func(n ast.Node) bool {
				starts := false
				switch n := n.(type) {
				case *ast.GoStmt:
					starts = true
				case *ast.CallExpr:
					sel, ok := n.Fun.(*ast.SelectorExpr)
					starts = ok && sel.Sel.Name == "Go" && !safe
				}
				if starts {
					seen[name] = true
					if goroutines[name] == "" {
						t.Errorf("%s: starts a goroutine; use safego.Group, so that a panic is a fault and not "+
							"\"unknown\"", set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
	for name := range goroutines {
		must.Be(t, seen[name], "%s is excused and starts no goroutine", name)
	}
}

// TestThinMains: a main package holds one short file.
func TestThinMains(t *testing.T) {
	for _, dir := range []string{"cmd/isovet", "cmd/bench"} {
		p := must.Get(build.ImportDir(filepath.Join(root(t), dir), 0))(t)
		must.Equal(t, len(p.GoFiles), 1, "files of %s (what commands do belongs into internal/cli)", dir)
	}
}
