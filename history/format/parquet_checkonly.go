//go:build checkonly || offline

package format

import (
	"context"
	"io"

	"isovet/history"
)

// readParquet says that the program that only checks, which is to be small, has no Parquet.
func readParquet(_ context.Context, in *Input, _ Options) (*history.History, error) {
	return nil, &history.InputError{File: in.Name, Off: -1, Msg: "this program is built without Parquet; expected " +
		"another format, or the full isovet"}
}

// writeParquet is not there.
var writeParquet func(w io.Writer, h *history.History, lossy bool) error
