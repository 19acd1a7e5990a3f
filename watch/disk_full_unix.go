//go:build unix

package watch

import "syscall"

func fullToo(e syscall.Errno) bool { return e == syscall.EDQUOT }
