package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"isovet/history"
	"isovet/history/format"
)

// loadHistory reads a history; "-" is standard input.
func loadHistory(ctx context.Context, path, name string) (*history.History, error) {
	h, err := format.Read(ctx, path, format.Options{Format: name})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return h, nil
}

// orInterrupted gives an error that comes from an interrupt its status and words.
func orInterrupted(err error, while string) error {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return &exitError{statusInterrupted, fmt.Errorf("interrupted while %s", while)}
	}
	return err
}

// formatNames are the values of --format.
func formatNames() []string {
	names := []string{auto}
	for _, f := range format.All() {
		names = append(names, f.Name)
	}
	return names
}

// named puts a file's name on an input error that has none.
func named(err error, file string) error {
	if in, ok := errors.AsType[*history.InputError](err); ok && in.File == "" {
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
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
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

// copyStdin keeps standard input in a file, for what must be read more than once.
func copyStdin(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, os.Stdin); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
