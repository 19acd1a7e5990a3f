//go:build !offline

package bench

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// Offline says that the program has neither charts nor Parquet: it was built with -tags offline.
const Offline = false

// WriteTidyParquet writes the same as Parquet.
func WriteTidyParquet(w io.Writer, runs []Observation) error {
	p := parquet.NewGenericWriter[Observation](w, parquet.Compression(&parquet.Zstd))
	if _, err := p.Write(runs); err != nil {
		return err
	}
	return p.Close()
}
