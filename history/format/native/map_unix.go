//go:build unix

package native

import (
	"os"

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
