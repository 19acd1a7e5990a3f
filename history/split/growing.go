package split

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/history/partlist"
	"isovet/internal/slice"
)

// recording reads a recording that may still be in progress, as far as it goes.
func (p *planner) recording(ctx context.Context, path string, size int64) error {
	if !strings.HasSuffix(path, partlist.Recording) || p.o.Format != "" && p.o.Format != "isovet-history" ||
		size > p.o.Whole {
		return nil
	}
	in, err := format.Open(path)
	if err != nil {
		return cannotOpen(path, err)
	}
	head, err := in.Head()
	is := err == nil && !in.Dir && jsonl.IsPartial(head)
	in.Close()
	if !is {
		return nil // whoever reads it says what is wrong
	}
	f := File{Path: path, Format: "isovet-history", Bytes: size, Grows: true}
	h, err := readWhole(ctx, &f, p.o.RealTime, p.o.Whole)
	if err != nil {
		return err
	}
	slice.MakeMap(&p.early)
	p.early[path] = h
	return nil
}

// goneError says that a recording was completed meanwhile and is another file now.
type goneError struct{ *history.InputError }

func (e *goneError) Unwrap() error { return e.InputError }

func cannotOpen(file string, err error) error {
	in := &history.InputError{File: file, Off: -1, Msg: "cannot open: " + history.Reason(err)}
	if _, serr := os.Stat(file); errors.Is(serr, fs.ErrNotExist) && strings.HasSuffix(file, partlist.Recording) {
		in.Msg = "the recorder has finished this part meanwhile, under another file name; read the folder again"
		return &goneError{in}
	}
	return in
}
