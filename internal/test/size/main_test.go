package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// TestCount: each thing is counted where it stands, and what is over a bound is named.
func TestCount(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(top, filepath.FromSlash(name))
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	fields := "type big struct {\n\ta0, b0 int\n"
	for i := range maxFields - 1 {
		fields += fmt.Sprintf("\tf%d int\n", i)
	}
	long := "func long() {\n" + strings.Repeat("\n", maxFuncLines-1) + "}\n"
	write("a/a.go", "package a\n\n"+fields+"}\n\n"+long)
	write("a/a_test.go", "package a\n"+strings.Repeat("\n", maxFileLines))
	for i := range maxFiles {
		write(fmt.Sprintf("a/x%d.go", i), "package a\n")
	}
	write("internal/test/help/help.go", "package help\n")
	write("contrib/c/c.go", "package c\n")
	write("b/testdata/bad.go", "no Go\n")
	write(".ci/x.go", "package x\n")
	write("docs/page.md", "# Page\n")
	c := must.Get(count(top))(t)
	lines := 2 + 2 + maxFields - 1 + 2 + maxFuncLines + 1 + maxFiles
	if c.lines != lines || c.tests != maxFileLines+2 || c.contrib != 1 {
		t.Errorf("%d lines, %d of tests, %d of contrib; expected %d", c.lines, c.tests, c.contrib, lines)
	}
	var out strings.Builder
	must.OK(t, c.write(&out, true))
	for _, want := range []string{"folders at the top                                      4  of", "26 a\n",
		"26 a/a.go: big\n", "71 a/a.go: long\n", "501 a/a_test.go\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	write("a/bad.go", "package\n")
	if _, err := count(top); err == nil || !strings.Contains(err.Error(), "bad.go") {
		t.Errorf("of a file that is no Go: %v", err)
	}
}
