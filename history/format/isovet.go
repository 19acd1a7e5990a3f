package format

import (
	"bytes"
	"context"
	"io"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/history/format/native"
)

var isovet = Format{
	Name:   "isovet-history",
	About:  "JSON lines, one for each transaction; isovet collects and generates this format",
	Tool:   "isovet",
	Holds:  Everything,
	Ext:    []string{".jsonl"},
	Detect: detectJSONL,
	Read: func(ctx context.Context, in *Input, o Options) (*history.History, error) {
		if head, err := in.Head(); err == nil && jsonl.IsPartial(head) {
			data, err := in.Bytes()
			if err != nil {
				return nil, err
			}
			if o.Recorded > 0 && o.Recorded < int64(len(data)) {
				data = data[:o.Recorded]
			}
			return jsonl.ReadPartial(ctx, data, in.Name, o.Workers)
		}
		if data, ok := in.Mapped(); ok {
			return jsonl.ReadMapped(ctx, data, in.Name, o.Workers, in.release)
		}
		r, err := in.Reader()
		if err != nil {
			return nil, err
		}
		return jsonl.ReadFrom(ctx, r, in.Name)
	},
	Write: func(w io.Writer, h *history.History, _ bool) error { return jsonl.Write(w, h) },
}

// detectJSONL recognises the format's header and, without one, the field that every transaction has. If a line begins
// with an object that no other format claims, the format is possible: then its reader says what is wrong.
func detectJSONL(head []byte, path string) Confidence {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	rest, is := bytes.CutPrefix(head, []byte("{"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if !is || len(rest) > 0 && rest[0] != '"' && rest[0] != '}' {
		return No
	}
	if isOperations(head) {
		return No
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.Contains(line, []byte(`"isovet-history"`)):
		return Certain
	case bytes.Contains(line, []byte(`"ops"`)):
		return Likely
	}
	return Maybe
}

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
	// A plain file is mapped again, since this mapping must outlive the Input.
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
