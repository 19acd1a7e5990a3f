package large

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"isovet/history"
)

// records are files with the records of operations, one file per partition of the keys.
type records struct {
	v     *verifier
	files []*os.File
	w     []*bufio.Writer
}

// create makes the files of n partitions.
func (r *records) create(n int) error {
	if err := os.MkdirAll(r.v.o.Dir, 0o755); err != nil {
		return err
	}
	for i := range n {
		f, err := os.Create(filepath.Join(r.v.o.Dir, fmt.Sprintf("verify-%03d", i)))
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
		r.w = append(r.w, bufio.NewWriterSize(f, 1<<15))
	}
	return nil
}

func (r *records) put(part int, record []byte) error {
	_, err := r.w[part].Write(record)
	return err
}

func (r *records) close() {
	for _, f := range r.files {
		f.Close()
		os.Remove(f.Name())
	}
	os.Remove(r.v.o.Dir) // if there is nothing else in it
}

func (r *records) replay(ctx context.Context) error {
	for i, w := range r.w {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if r.v.o.Progress != nil {
			r.v.o.Progress("replaying", int64(i), int64(len(r.w)))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		b, err := os.ReadFile(r.files[i].Name())
		if err != nil {
			return err
		}
		if err := r.v.part(b); err != nil {
			return err
		}
	}
	return nil
}

// each passes over the history and reports progress. first is the place of a batch's first transaction.
func (v *verifier) each(ctx context.Context, stage string, f func(h *history.History, first int64) error) error {
	return v.s.Each(ctx, func(h *history.History, first int64) error {
		if v.o.Progress != nil {
			v.o.Progress(stage, first, v.s.Txns)
		}
		return f(h, first)
	})
}
