package isovettest

import (
	"isovet/internal/test/must"
	"os"
	"path/filepath"
	"testing"
)

// TestFolder: the artifacts of a test that fails again, by go test -count or in another run, do not take the place of
// the first.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	t.Setenv("ISOVET_ARTIFACTS", dir)
	if err := os.MkdirAll(filepath.Join(dir, "TestFolder-2"), 0o755); err != nil { // of another run
		t.Fatal(err)
	}
	for _, want := range []string{"TestFolder", "TestFolder-3", "TestFolder-4"} {
		if got, err := folder(t); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: %v; expected %s", got, err, want)
		}
	}
	t.Setenv("ISOVET_ARTIFACTS", filepath.Join(dir, "file"))
	must.OK(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	if got, err := folder(t); err == nil {
		t.Errorf("a folder %s below a file", got)
	}
}
