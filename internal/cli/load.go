package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"isovet/history"
)

// loadHistory reads a history; "-" is standard input.
func loadHistory(ctx context.Context, e *env, path, format string) (*history.History, error) {
	h, err := readHistory(ctx, e, path, format)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// saveHistory writes a history; "-" is standard output.
func saveHistory(ctx context.Context, e *env, path, format string, h *history.History) error {
	if path == "-" {
		return writeHistory(e.stdout, h, format)
	}
	return e.writeFile(path, func(w io.Writer) error { return writeHistory(w, h, format) })
}

// named puts a file's name on an input error that has none.
func named(err error, file string) error {
	var in *history.InputError
	if errors.As(err, &in) && in.File == "" {
		in.File = file
	}
	return err
}

// writeFile writes a file so that it is there whole or not at all: to a temporary file beside it, then renamed. "-" is
// standard output.
func (e *env) writeFile(path string, write func(io.Writer) error) (err error) {
	if path == "-" {
		return write(e.stdout)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
