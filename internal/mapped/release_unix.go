//go:build unix

package mapped

import "golang.org/x/sys/unix"

// release drops the pages of a mapping; the next look at one brings it back.
func release(part []byte) { _ = unix.Madvise(part, unix.MADV_DONTNEED) } // advice only
