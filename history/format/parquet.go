//go:build !checkonly && !offline

package format

import (
	"context"
	"io"

	"isovet/history"
	"isovet/history/format/parquet"
)

// readParquet reads a Parquet file.
func readParquet(ctx context.Context, in *Input, o Options) (*history.History, error) {
	if data, ok := in.Mapped(); ok {
		return parquet.Read(ctx, data, in.Name, o.Workers, in.release)
	}
	data, err := in.Bytes()
	if err != nil {
		return nil, err
	}
	return parquet.Read(ctx, data, in.Name, o.Workers, nil)
}

// writeParquet writes one.
func writeParquet(w io.Writer, h *history.History, _ bool) error { return parquet.Write(w, h) }
