//go:build !unix

package native

import (
	"errors"
	"os"
)

// mapFile is for systems where the file is read into memory instead.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
