package format

import (
	"context"
	"io"

	"isovet/history"
	"isovet/history/format/native"
)

var columnar = Format{
	Name:  "isovet-native",
	About: "binary columns, mapped into memory and used in place; the fastest to load",
	Tool:  "isovet",
	Holds: Everything,
	Ext:   []string{".ivh"},
	Detect: func(head []byte, path string) Confidence {
		if native.Is(head) {
			return Certain
		}
		return No
	},
	// A plain file gets a mapping of its own, since that must outlive the Input.
	Read: func(ctx context.Context, in *Input, o Options) (*history.History, error) {
		if _, ok := in.Mapped(); ok {
			return native.ReadFile(ctx, in.Path, o.Workers)
		}
		r, err := in.Reader()
		if err != nil {
			return nil, err
		}
		return native.ReadFrom(ctx, r, in.Name, o.Workers)
	},
	Write: func(w io.Writer, h *history.History, _ bool) error { return native.Write(w, h) },
}
