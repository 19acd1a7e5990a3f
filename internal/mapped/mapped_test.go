//go:build unix

package mapped

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"isovet/internal/test/must"
)

// What has been given back reads as before, and what has been taken out of the list may be unmapped.
func TestRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	want := bytes.Repeat([]byte("isovet"), 100_000)
	must.OK(t, os.WriteFile(path, want, 0o600))
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	data, unmap, err := File(f, int64(len(want)))
	must.OK(t, err)
	if !bytes.Equal(data, want) {
		t.Fatal("the mapping is not the file")
	}
	Release()
	if !bytes.Equal(data, want) {
		t.Error("what was given back reads differently")
	}
	must.OK(t, unmap())
	must.Equal(t, len(parts), 0, "mappings are left in the list")
	Release()
}
