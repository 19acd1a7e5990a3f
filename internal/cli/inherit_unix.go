//go:build unix

package cli

import "syscall"

// closeOnExec keeps a file that this process was handed from those that it starts.
func closeOnExec(fd uintptr) { syscall.CloseOnExec(int(fd)) }
