// Package xz has programs that import it read histories in files compressed with xz.
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
