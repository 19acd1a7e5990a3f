//go:build !unix

package mapped

import (
	"errors"
	"os"
)

// File is for systems where a file is read in another way: it fails.
func File(*os.File, int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}

// Sequential has nobody to tell.
func Sequential([]byte) {}

// WillNeed has nobody to tell.
func WillNeed([]byte) {}

// ReleasePart has nothing to give back: nothing is mapped.
func ReleasePart([]byte) {}

// release has nothing to give back: nothing is mapped.
func release([]byte) {}
