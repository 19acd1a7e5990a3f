//go:build !unix

package native

import (
	"errors"
	"io"
	"os"
)

// mapFile is for systems where the file is read into memory instead.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}

// mapLazily reads the file into memory.
func mapLazily(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	data = buffer(int(size))
	_, err = io.ReadFull(f, data)
	return data, func() error { return nil }, err
}
