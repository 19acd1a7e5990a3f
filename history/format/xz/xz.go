// Package xz adds the reading of histories compressed with xz to programs that import it.
//
// Experimental: this package may still change.
package xz

import (
	"io"

	"github.com/ulikunitz/xz"

	"isovet/history/format"
)

func init() {
	format.RegisterXZ(func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) })
}
