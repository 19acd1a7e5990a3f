//go:build unix

package format

import (
	"os"

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
