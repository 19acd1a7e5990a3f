// Package store keeps files on any of Beam's file systems: of this machine, gs:// and s3://.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/cespare/xxhash/v2"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
)

// Remote reports whether a path is one of another file system than this machine's.
func Remote(p string) bool { return strings.Contains(p, "://") }

// Join joins a folder and a name.
func Join(dir, name string) string {
	if Remote(dir) {
		return strings.TrimSuffix(dir, "/") + "/" + name
	}
	return filepath.Join(dir, name)
}

// Base is the last part of a path.
func Base(p string) string {
	if Remote(p) {
		return path.Base(p)
	}
	return filepath.Base(p)
}

// Write writes a file whole or not at all: where two write the same file at once, both write the same bytes. Its
// content ends with a checksum, which Read looks at.
func Write(ctx context.Context, p string, content ...[]byte) (err error) {
	h := xxhash.New()
	for _, b := range content {
		h.Write(b)
	}
	content = append(content[:len(content):len(content)], h.Sum(nil))
	if !Remote(p) {
		f, err := temporary(p)
		if err != nil {
			return err
		}
		for _, b := range content {
			if _, err = f.Write(b); err != nil {
				break
			}
		}
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), p)
		}
		if err != nil {
			os.Remove(f.Name())
		}
		return err
	}
	fs, err := filesystem.New(ctx, p)
	if err != nil {
		return err
	}
	defer fs.Close()
	// Objects are there when they are whole; a cancelled context leaves none.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := fs.OpenWrite(ctx, p)
	if err != nil {
		return err
	}
	for _, b := range content {
		if _, err := w.Write(b); err != nil {
			cancel()
			w.Close()
			return err
		}
	}
	return w.Close()
}

// ErrNone is the error of Read where there is no such file.
var ErrNone = errors.New("no such file")

// Read reads a file that Write wrote.
func Read(ctx context.Context, p string) ([]byte, error) {
	var b []byte
	var err error
	if !Remote(p) {
		if b, err = os.ReadFile(p); errors.Is(err, os.ErrNotExist) {
			return nil, ErrNone
		}
	} else {
		var there []string
		var fs filesystem.Interface
		if fs, err = filesystem.New(ctx, p); err != nil {
			return nil, err
		}
		defer fs.Close()
		if there, err = fs.List(ctx, p); err == nil && len(there) == 0 {
			return nil, ErrNone
		}
		if err == nil {
			b, err = filesystem.Read(ctx, fs, p)
		}
	}
	if err != nil {
		return nil, err
	}
	n := len(b) - 8
	if n < 0 {
		return nil, fmt.Errorf("%s is damaged: it has %d bytes", p, len(b))
	}
	h := xxhash.New()
	h.Write(b[:n])
	if !bytes.Equal(h.Sum(nil), b[n:]) {
		return nil, fmt.Errorf("%s is damaged: its checksum is wrong", p)
	}
	return b[:n], nil
}

// List lists the files of a folder whose names begin with a prefix, by name.
func List(ctx context.Context, dir, prefix string) ([]string, error) {
	if !Remote(dir) {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		var names []string
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix) {
				names = append(names, filepath.Join(dir, e.Name()))
			}
		}
		return names, err
	}
	pattern := Join(dir, prefix+"*")
	fs, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	names, err := fs.List(ctx, pattern)
	slices.Sort(names)
	return names, err
}

// Remove removes files; those that are not there are none.
func Remove(ctx context.Context, paths ...string) error {
	var errs []error
	for _, p := range paths {
		if !Remote(p) {
			if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		fs, err := filesystem.New(ctx, p)
		if err != nil {
			return err
		}
		if r, ok := fs.(filesystem.Remover); ok {
			if err := r.Remove(ctx, p); err != nil {
				errs = append(errs, err)
			}
		}
		fs.Close()
	}
	return errors.Join(errs...)
}

// Files lists the files that a name of another file system means: itself, those that match a pattern, or those of a
// folder.
func Files(ctx context.Context, p string) (files []string, folder bool, err error) {
	fs, err := filesystem.New(ctx, p)
	if err != nil {
		return nil, false, err
	}
	defer fs.Close()
	if !strings.HasSuffix(p, "/") {
		files, err = fs.List(ctx, p)
	}
	if err == nil && len(files) == 0 && !strings.ContainsAny(p, "*?[") {
		folder = true
		files, err = fs.List(ctx, Join(p, "*"))
	}
	slices.Sort(files)
	return files, folder, err
}

// Stat is a file's size, and when it was written: the beginning of 1970 where its file system does not say it.
func Stat(ctx context.Context, p string) (size int64, at time.Time, err error) {
	at = time.Unix(0, 0)
	fs, err := filesystem.New(ctx, p)
	if err != nil {
		return 0, at, err
	}
	defer fs.Close()
	if size, err = fs.Size(ctx, p); err != nil {
		return 0, at, err
	}
	if m, ok := fs.(filesystem.LastModifiedGetter); ok {
		at, err = m.LastModified(ctx, p)
	}
	return size, at, err
}

// Fetch copies a file to this machine's disk, whole or not at all, with a time.
func Fetch(ctx context.Context, from, to string, at time.Time) error {
	fs, err := filesystem.New(ctx, from)
	if err != nil {
		return err
	}
	defer fs.Close()
	r, err := fs.OpenRead(ctx, from)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.CreateTemp(filepath.Dir(to), ".part-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close(), os.Chtimes(f.Name(), at, at)); err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
