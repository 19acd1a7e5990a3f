//go:build unix

package mapped

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReleasePart gives the whole pages of a part of a mapping back; the next look at one brings it back from the file.
// Cost: one call of the system.
func ReleasePart(part []byte) {
	page := os.Getpagesize()
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(part)))) & (page - 1)
	if skip >= len(part) {
		return
	}
	part = part[skip:]
	if whole := len(part) &^ (page - 1); whole > 0 {
		_ = unix.Madvise(part[:whole], unix.MADV_DONTNEED) // advice only
	}
}

// release drops the pages of a mapping; the next look at one brings it back.
func release(part []byte) { _ = unix.Madvise(part, unix.MADV_DONTNEED) } // advice only
