//go:build unix

package native

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"isovet/internal/mapped"
)

// mapFile maps a file into memory, for reading only: a history is immutable, and whoever writes to one should hear of
// it.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	data, unmap, err = mapLazily(f, size)
	if err == nil {
		_ = unix.Madvise(data, unix.MADV_WILLNEED) // advice only
	}
	return data, unmap, err
}

// mapLazily is mapFile for a file of which parts are read, when they are.
func mapLazily(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if int64(int(size)) != size {
		return nil, nil, unix.EFBIG
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	remove := mapped.Add(data)
	return data, func() error { remove(); return unix.Munmap(data) }, nil
}

// releasePages gives the whole pages of a part of a mapping back; reading them again would bring them back from the
// file.
func releasePages(part []byte) {
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
