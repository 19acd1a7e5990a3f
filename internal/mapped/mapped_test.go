//go:build unix

package mapped

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// What has been given back reads as before, and what has been taken out of the list may be unmapped.
func TestRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	want := bytes.Repeat([]byte("isovet"), 100_000)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := unix.Mmap(int(f.Fd()), 0, len(want), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	remove := Add(data)
	if !bytes.Equal(data, want) {
		t.Fatal("the mapping is not the file")
	}
	Release()
	if !bytes.Equal(data, want) {
		t.Error("what was given back reads differently")
	}
	remove()
	if len(parts) != 0 {
		t.Errorf("%d mappings are left in the list", len(parts))
	}
	if err := unix.Munmap(data); err != nil {
		t.Fatal(err)
	}
	Release()
}
