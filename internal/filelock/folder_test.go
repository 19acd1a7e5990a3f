package filelock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFolders: a folder that nobody holds is removed by the next one of its name, and no other is.
func TestFolders(t *testing.T) {
	temp := t.TempDir()
	for _, v := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(v, temp)
	}
	make := func(name string) *Folder {
		t.Helper()
		f, err := TempFolder(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	old := func(f *Folder) {
		t.Helper()
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(f.Path, folderFile), then, then); err != nil {
			t.Fatal(err)
		}
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
	if err := os.Mkdir(strange, 0o700); err != nil {
		t.Fatal(err)
	}
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
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(held.Path); err == nil {
		t.Errorf("%s is there", held.Path)
	}
}
