package charts

import (
	"io"

	"github.com/parquet-go/parquet-go"

	"isovet/bench"
)

func writeParquet(w io.Writer, runs []bench.Observation) error {
	p := parquet.NewGenericWriter[bench.Observation](w, parquet.Compression(&parquet.Zstd))
	if _, err := p.Write(runs); err != nil {
		return err
	}
	return p.Close()
}
