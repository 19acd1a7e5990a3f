//go:build unix

package mapped

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File maps a file for reading and adds it to the list. unmap removes it from the list and unmaps it.
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

// ReleasePart returns the complete pages of a part of a mapping to the system; the next access reads them from the
// file. Cost: one system call.
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

// release returns the pages of a mapping to the system; the next access reads them again.
func release(part []byte) { _ = unix.Madvise(part, unix.MADV_DONTNEED) } // advice only
