package parquet

import (
	"io"

	"isovet/history"
	"isovet/history/format"
)

func init() {
	format.RegisterParquet(format.Parquet{
		Read: Read, Write: Write,
		Open: func(data []byte, name string) (format.Table, error) {
			f, err := Open(data, name)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		NewWriter: func(w io.Writer, h *history.History) (format.TableWriter, error) { return NewWriter(w, h) },
	})
}
