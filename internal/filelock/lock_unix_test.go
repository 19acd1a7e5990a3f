//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"isovet/internal/test/must"
)

// TestClose: the lock is gone though another process has the open file, as a child has it before it runs its program.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := must.Get(os.Create(path))(t)
	must.OK(t, Try(first))
	child := must.Get(unix.Dup(int(first.Fd())))(t)
	defer unix.Close(child)
	must.OK(t, Close(first))
	second := must.Get(os.Create(path))(t)
	must.OK(t, Try(second))
	must.OK(t, Close(second))
}
