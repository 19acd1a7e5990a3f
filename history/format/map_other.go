//go:build !unix

package format

import (
	"errors"
	"os"
)

// mapFile is for systems where the file is read as a stream instead.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
