//go:build unix

package console

import "syscall"

// closeOnExec keeps a file that this process was handed from those that it starts.
func closeOnExec(fd uintptr) { syscall.CloseOnExec(int(fd)) }

// Private has the files that this process makes be its user's alone, until undo is called.
func Private() (undo func()) {
	old := syscall.Umask(0o077)
	return func() { syscall.Umask(old) }
}
