//go:build unix

package mapped

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File maps a file for reading, enters it in the list, and returns what takes it out and unmaps it.
func File(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if int64(int(size)) != size {
		return nil, nil, unix.EFBIG
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	remove := add(data)
	return data, func() error { remove(); return unix.Munmap(data) }, nil
}

// Sequential tells the system that a mapping will be read from front to back.
func Sequential(data []byte) { _ = unix.Madvise(data, unix.MADV_SEQUENTIAL) } // advice only

// WillNeed tells the system that all of a mapping will be read.
func WillNeed(data []byte) { _ = unix.Madvise(data, unix.MADV_WILLNEED) } // advice only

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
