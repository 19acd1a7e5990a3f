//go:build unix

package format

import (
	"io"
	"isovet/internal/test/must"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialFiles: a device or a pipe is written to; it once was replaced by a file, /dev/null of a root's too.
func TestSpecialFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("SKIPPED, NOTHING TESTED: no pipes with names: %v", err)
	}
	path := filepath.Join(t.TempDir(), "h.jsonl")
	must.OK(t, os.WriteFile(path, []byte(`{"id":1,"session":1,"ops":[["w","x",1]]}`), 0o600))
	h := must.Get(Read(t.Context(), path, Options{}))(t)
	read := make(chan string, 1)
	go func() {
		f, err := os.Open(pipe)
		if err != nil {
			read <- err.Error()
			return
		}
		defer f.Close()
		text, _ := io.ReadAll(f)
		read <- string(text)
	}()
	must.OK(t, Write(pipe, h, "isovet-history", false))
	if text := <-read; !strings.Contains(text, `["w","x",1]`) {
		t.Errorf("the pipe gave %q", text)
	}
	if st, err := os.Stat(pipe); err != nil || st.Mode().IsRegular() {
		t.Errorf("the pipe became %v, %v", st, err)
	}
}
