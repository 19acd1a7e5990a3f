//go:build unix

package console

import "syscall"

// closeOnExec hides a file from processes that this one starts.
func closeOnExec(fd uintptr) { syscall.CloseOnExec(int(fd)) }

// Private makes new files of this process readable by its user only, until undo is called.
func Private() (undo func()) {
	old := syscall.Umask(0o077)
	return func() { syscall.Umask(old) }
}
