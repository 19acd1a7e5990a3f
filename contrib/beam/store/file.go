package store

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// Writer writes a file that is large: whole or not at all, without a checksum of its own.
type Writer struct {
	*bufio.Writer
	n      int64
	commit func() error
	abort  func()
}

// Create begins a file.
func Create(ctx context.Context, p string) (*Writer, error) {
	if !Remote(p) {
		f, err := temporary(p)
		if err != nil {
			return nil, err
		}
		abort := func() { f.Close(); os.Remove(f.Name()) }
		return newWriter(f, func() error {
			if err := f.Close(); err != nil {
				return err
			}
			return os.Rename(f.Name(), p)
		}, abort), nil
	}
	fs, err := filesystem.New(ctx, p)
	if err != nil {
		return nil, err
	}
	// Objects are there when they are whole; a cancelled context leaves none.
	ctx, cancel := context.WithCancel(ctx)
	w, err := fs.OpenWrite(ctx, p)
	if err != nil {
		cancel()
		fs.Close()
		return nil, err
	}
	return newWriter(w, func() error {
		defer fs.Close()
		defer cancel()
		return w.Close()
	}, func() {
		cancel()
		w.Close()
		fs.Close()
	}), nil
}

func newWriter(to io.Writer, commit func() error, abort func()) *Writer {
	w := &Writer{commit: commit, abort: abort}
	w.Writer = bufio.NewWriterSize(&counted{to, &w.n}, 1<<18)
	return w
}

type counted struct {
	to io.Writer
	n  *int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	*c.n += int64(n)
	return n, err
}

// Offset is how many bytes were written.
func (w *Writer) Offset() int64 { return w.n + int64(w.Buffered()) }

// Close ends the file: with an error in what was written before, it is not there.
func (w *Writer) Close(err error) error {
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		if err = w.commit(); err == nil {
			return nil
		}
	}
	w.abort()
	return err
}

// temporary is a file beside another one, which is made by renaming it.
func temporary(p string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(p), ".part-*")
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(p), 0o755); err == nil {
			f, err = os.CreateTemp(filepath.Dir(p), ".part-*")
		}
	}
	return f, err
}

// File is a file that is read here and there.
type File struct {
	*os.File
	copied bool
}

// Open opens a file that Create began: one of another file system by a copy, which is gone when it is closed.
func Open(ctx context.Context, p string) (*File, error) {
	if !Remote(p) {
		f, err := os.Open(p)
		if errors.Is(err, os.ErrNotExist) {
			err = ErrNone
		}
		return &File{File: f}, err
	}
	fs, err := filesystem.New(ctx, p)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	if there, err := fs.List(ctx, p); err != nil || len(there) == 0 {
		return nil, errors.Join(err, none(err == nil))
	}
	r, err := fs.OpenRead(ctx, p)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := os.CreateTemp("", "isovet-beam-part-*")
	if err != nil {
		return nil, err
	}
	c := &File{f, true}
	if _, err := io.Copy(f, r); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func none(is bool) error {
	if is {
		return ErrNone
	}
	return nil
}

// Close closes it.
func (f *File) Close() error {
	err := f.File.Close()
	if f.copied {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
