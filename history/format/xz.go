//go:build !checkonly

package format

import (
	"io"

	"github.com/ulikunitz/xz"
)

// readXZ decompresses xz.
func readXZ(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }
