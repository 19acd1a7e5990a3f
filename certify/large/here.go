package large

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"isovet/history"
)

// passes are those over a history that take all of it, and over what is sorted by key.
type passes interface {
	// read passes over all parts of the history, and keeps the records of n partitions.
	read(ctx context.Context, n int) ([]*passed, error)
	// replay replays the partitions' records.
	replay(ctx context.Context, n int) error
	// reads, installs and txns pass over all parts for violations.
	reads(ctx context.Context, ids map[int64]bool) ([]read, error)
	installs(ctx context.Context, ids map[int64]bool, reads []read) ([]install, error)
	txns(ctx context.Context, w *wanted) ([]txn, error)
	close()
}

// here does them in this process, with a file a partition.
type here struct {
	v     *verifier
	files []*os.File
	w     []*bufio.Writer
}

func (l *here) read(ctx context.Context, n int) ([]*passed, error) {
	if err := os.MkdirAll(l.v.o.Dir, 0o755); err != nil {
		return nil, err
	}
	for i := range n {
		f, err := os.Create(filepath.Join(l.v.o.Dir, fmt.Sprintf("verify-%03d", i)))
		if err != nil {
			return nil, err
		}
		l.files = append(l.files, f)
		l.w = append(l.w, bufio.NewWriterSize(f, 1<<15))
	}
	p, err := l.v.pass(ctx, l.v.s.Each, n, func(part int, record []byte) error {
		_, err := l.w[part].Write(record)
		return err
	})
	return []*passed{p}, err
}

func (l *here) close() {
	for _, f := range l.files {
		f.Close()
		os.Remove(f.Name())
	}
	os.Remove(l.v.o.Dir) // if there is nothing else in it
}

func (l *here) replay(ctx context.Context, n int) error {
	for i, w := range l.w {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if l.v.o.Progress != nil {
			l.v.o.Progress("replaying", int64(i), int64(n))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		b, err := os.ReadFile(l.files[i].Name())
		if err != nil {
			return err
		}
		if err := l.v.part(b); err != nil {
			return err
		}
	}
	return nil
}

// told is the history, with progress.
func (l *here) told(stage string) each {
	return func(ctx context.Context, f func(h *history.History, first int64) error) error {
		return l.v.s.Each(ctx, func(h *history.History, first int64) error {
			if l.v.o.Progress != nil {
				l.v.o.Progress(stage, first, l.v.s.Txns)
			}
			return f(h, first)
		})
	}
}

func (l *here) reads(ctx context.Context, ids map[int64]bool) ([]read, error) {
	return l.v.reads(ctx, l.told("looking for its transactions"), ids)
}

func (l *here) installs(ctx context.Context, ids map[int64]bool, reads []read) ([]install, error) {
	return l.v.installs(ctx, l.told("looking for what they should have read"), ids, reads)
}

func (l *here) txns(ctx context.Context, w *wanted) ([]txn, error) {
	return w.txns(ctx, l.told("looking for what they read"))
}
