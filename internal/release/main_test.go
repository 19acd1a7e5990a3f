package main

import (
	"isovet/internal/test/must"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrite makes what an archive holds: a man page for each command, completions that name them, a licence for each
// module.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	must.OK(t, write(dir))
	for path, want := range map[string]string{
		"man/isovet.1":                                "isovet-check",
		"man/isovet-check.1":                          "--level",
		"completions/isovet.bash":                     "__isovet",
		"completions/_isovet":                         "#compdef isovet",
		"completions/isovet.fish":                     "isovet",
		"completions/isovet.ps1":                      "isovet",
		"licenses/github.com/spf13/cobra/LICENSE.txt": "Apache License",
	} {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(b), want) {
			t.Errorf("%s does not say %q", path, want)
		}
	}
	if err := copyLicences(t.TempDir(), t.TempDir()); err == nil {
		t.Error("a module without a licence is accepted")
	}
}
