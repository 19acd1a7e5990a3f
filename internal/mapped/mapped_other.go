//go:build !unix

package mapped

import (
	"errors"
	"os"
)

// File always fails. On these systems files are read in another way.
func File(*os.File, int64) (data []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}

// Sequential does nothing on these systems.
func Sequential([]byte) {}

// WillNeed does nothing on these systems.
func WillNeed([]byte) {}

// ReleasePart does nothing, since nothing is mapped.
func ReleasePart([]byte) {}

// release does nothing, since nothing is mapped.
func release([]byte) {}
