package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
)

const there = "example.org/you/isovet"

// module copies what a build needs of this module into a new folder.
func module(t *testing.T) string {
	t.Helper()
	top, dir := filepath.Join("..", ".."), t.TempDir()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); rel != "." && (strings.HasPrefix(n, ".") || n == "testdata" || rel == "bench/results") {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(dir, rel), 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs the go command in a folder.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestSetPath gives a copy another path and the old one again: no import is left over, and the files are the same. The
// long form builds the copy, tests too.
func TestSetPath(t *testing.T) {
	histtest.OnlyLong(t) // it copies and builds the module
	dir := module(t)
	before := files(t, dir)
	n, err := rewrite(dir, there)
	if err != nil {
		t.Fatal(err)
	}
	if n < 300 {
		t.Errorf("%d files changed", n)
	}
	for path, text := range files(t, dir) {
		if filepath.Ext(path) == ".go" && !strings.Contains(path, "setpath") &&
			strings.Contains(text, "\n\t\"isovet/") {
			t.Errorf("%s still imports the old path", path)
		}
	}
	builds(t, dir)
	after := files(t, dir)
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s is another file after the way there and back", path)
		}
	}
}

// builds has go list and build a copy under its other path, and setpath itself bring the old path back.
func builds(t *testing.T, dir string) {
	t.Helper()
	list := run(t, dir, "list", "-deps", "-test", "./...")
	if strings.Contains(list, "\nisovet/") || !strings.Contains(list, "\n"+there+"/check\n") {
		t.Error("the packages are not under their new path")
	}
	for _, sub := range []string{"contrib/beam"} { // modules of their own
		list := run(t, filepath.Join(dir, filepath.FromSlash(sub)), "list", "-mod=mod", "-f",
			"{{.ImportPath}} {{.Imports}}", "./...")
		if !strings.Contains(list, there+"/"+sub+"/") || !strings.Contains(list, there+"/internal/cli") ||
			strings.Contains(list, " isovet/") || strings.Contains(list, "[isovet/") {
			t.Errorf("%s is not under its new path:\n%s", sub, list)
		}
	}
	run(t, dir, "vet", "./...")
	run(t, dir, "test", "-run", "Imports|Floor|Narrow|Goroutines", "./internal/test/archtest")
	said := run(t, dir, "run", "./internal/setpath", "isovet")
	if !strings.Contains(said, " files have the path isovet") {
		t.Error(said)
	}
}

// files are the texts that setpath may change.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".md", ".mod":
			b, err := os.ReadFile(path)
			all[path] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRewrites: what is a package's path is rewritten, what looks like one is not.
func TestRewrites(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module isovet\n\ngo 1.26.0\n")
	put("sub/go.mod", "module isovet/sub\n\nrequire isovet v0.0.0\n\nreplace isovet => ../\n")
	put("a/a.go", "package a\n\nimport (\n\t\"fmt\"\n\n\tb \"isovet/b\"\n)\n\nvar _ = b.X\n\nfunc f() {\n\t"+
		"fmt.Println(\"isovet\", \"isovet/none\", \"isovet/b\", `import \"isovet/b\"`)\n}\n")
	put("b/b.go", "package b\n\nvar X = \"isovet: \"\n")
	put("p.md", "go mod edit -require=isovet@v0.0.0 -replace=isovet=../isovet\n\t\"isovet/b\"\n"+
		"isovet check \"isovet\"\n")
	if _, err := rewrite(dir, there); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"go.mod":     "module " + there + "\n\ngo 1.26.0\n",
		"sub/go.mod": "module " + there + "/sub\n\nrequire " + there + " v0.0.0\n\nreplace " + there + " => ../\n",
		"a/a.go": "package a\n\nimport (\n\t\"fmt\"\n\n\tb \"" + there + "/b\"\n)\n\nvar _ = b.X\n\nfunc f() {\n\t" +
			"fmt.Println(\"isovet\", \"isovet/none\", \"" + there + "/b\", `import \"" + there + "/b\"`)\n}\n",
		"b/b.go": "package b\n\nvar X = \"isovet: \"\n",
		"p.md": "go mod edit -require=" + there + "@v0.0.0 -replace=" + there + "=../isovet\n\t\"" + there +
			"/b\"\nisovet check \"isovet\"\n",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, b, want)
		}
	}
	for _, bad := range []string{"", "a b", "/x", "x/", "a\"b", "x/../y", "example.org/you."} {
		if _, err := rewrite(dir, bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
