//go:build checkonly

package format

import (
	"errors"
	"io"
)

// readXZ says that the program that only checks, which is to be small, has no xz.
func readXZ(io.Reader) (io.Reader, error) {
	return nil, errors.New("this program is built without xz; expected gzip, zstd, bzip2, zip, or the full isovet")
}
