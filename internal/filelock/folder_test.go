package filelock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestFolders: a folder that nobody holds is removed by the next one of its name, and no other is.
func TestFolders(t *testing.T) {
	temp := t.TempDir()
	for _, v := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(v, temp)
	}
	make := func(name string) *Folder {
		t.Helper()
		return must.Get(TempFolder(name))(t)
	}
	old := func(f *Folder) {
		t.Helper()
		then := time.Now().Add(-time.Hour)
		must.OK(t, os.Chtimes(filepath.Join(f.Path, folderFile), then, then))
	}
	killed := func(name string) *Folder {
		f := make(name)
		f.held.Close()
		return f
	}
	held, left, fresh, other := make("a"), killed("a"), killed("a"), killed("b")
	old(held)
	old(left)
	old(other)
	strange := filepath.Join(temp, "isovet-a-mine") // not made here
	must.OK(t, os.Mkdir(strange, 0o700))
	last := make("a")
	for _, c := range []struct {
		path  string
		there bool
	}{{held.Path, true}, {left.Path, false}, {fresh.Path, true}, {other.Path, true}, {strange, true},
		{last.Path, true}} {
		if _, err := os.Stat(c.path); (err == nil) != c.there {
			t.Errorf("%s: %v; expected there: %v", c.path, err, c.there)
		}
	}
	for _, f := range []*Folder{held, last, nil} {
		must.OK(t, f.Remove())
	}
	if _, err := os.Stat(held.Path); err == nil {
		t.Errorf("%s is there", held.Path)
	}
}
