package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"isovet/internal/test/must"
)

// TestEnd replaces a file that only its owner may read, through a symbolic link.
func TestEnd(t *testing.T) {
	file, link := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	must.OK(t, os.WriteFile(file, []byte("old"), 0o600))
	must.OK(t, os.Symlink(file, link))
	f := must.Get(Create(link))(t)
	must.Get(f.WriteString("new"))(t)
	must.OK(t, End(f, link, false, nil))
	st := must.Get(os.Lstat(file))(t)
	if b := must.Get(os.ReadFile(file))(t); string(b) != "new" || st.Mode() != 0o600 {
		t.Errorf("the file holds %q, mode %v; expected new, -rw-------", b, st.Mode())
	}
	if st := must.Get(os.Lstat(link))(t); st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v", st.Mode())
	}
	if left := must.Get(os.ReadDir(filepath.Dir(file)))(t); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
}
