//go:build !unix

package watch

import "syscall"

// fullToo recognises Windows' ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL.
func fullToo(e syscall.Errno) bool { return e == 39 || e == 112 }
