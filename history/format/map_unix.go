//go:build unix

package format

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"isovet/internal/mapped"
)

// mapFile maps a file into memory for reading from front to back.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	if int64(int(size)) != size {
		return nil, nil, unix.EFBIG
	}
	data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	_ = unix.Madvise(data, unix.MADV_SEQUENTIAL) // advice only
	remove := mapped.Add(data)
	return data, func() error { remove(); return unix.Munmap(data) }, nil
}

// releaseMapped gives the whole pages of a part of a mapping back; reading them again would bring them back from the
// file.
func releaseMapped(part []byte) {
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
