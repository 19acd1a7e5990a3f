package format

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"isovet/history"
	"isovet/internal/atomicfile"
)

// Write writes a history to a file; "-" is standard output. The format is the named one; for "" and "auto" it is the
// format of the file name's ending, or isovet's own. A name that ends in .gz or .zst is compressed. The file gets its
// name only when it is complete. If the format cannot express a feature of the history, it is an error, unless lossy
// drops the feature.
func Write(path string, h *history.History, name string, lossy bool) (err error) {
	return WriteContext(context.Background(), path, h, name, lossy)
}

// Invocations reports whether a file of this name, or in the named format, has invocations and completions, as Elle
// reads them. left lists features that are then dropped and that no checker of such files needs: times of operations
// in a transaction, and an initial version other than nil.
func Invocations(path, name string, h *history.History) (is bool, left Feature) {
	f, err := writable(path, name)
	left = Used(h) &^ f.Holds
	return err == nil && f.Events && left&^(OpTimes|Initial) == 0, left
}

// WriteContext is Write until ctx ends; then it leaves nothing behind.
func WriteContext(ctx context.Context, path string, h *history.History, name string, lossy bool) error {
	f, err := writable(path, name)
	if err != nil {
		return err
	}
	if lost := Used(h) &^ f.Holds; lost != 0 && !lossy {
		why := fmt.Sprintf("format %s cannot hold this history, which has %v", f.Name, lost)
		if lost&(Lists|Predicates|Rows) == 0 {
			why += "; isovet convert --lossy omits it"
		}
		return errors.New(why)
	}
	if f.WriteDir != nil {
		return writeDir(path, h, f)
	}
	if path == "-" {
		w := bufio.NewWriterSize(Stoppable{ctx, os.Stdout}, 1<<16)
		if err := f.Write(w, h, lossy); err != nil {
			return err
		}
		return w.Flush()
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a folder; expected a file", path)
	}
	tmp, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	w, err := Compressed(Stoppable{ctx, tmp}, path)
	if err == nil {
		err = errors.Join(f.Write(w, h, lossy), w.Close())
	}
	return atomicfile.End(tmp, path, false, err)
}

// Used returns the features of a history that some formats cannot express.
func Used(h *history.History) Feature {
	var f Feature
	for _, c := range [...]struct {
		times []int64
		f     Feature
	}{
		{h.Txns.Start, Times}, {h.Txns.Commit, Times}, {h.Txns.End, Times}, {h.Ops.Start, OpTimes},
		{h.Ops.End, OpTimes},
		{h.Txns.StartTS, Timestamps}, {h.Txns.CommitTS, Timestamps},
	} {
		if c.times != nil {
			f |= c.f
		}
	}
	for _, s := range h.Txns.Status {
		switch s {
		case history.Aborted:
			f |= Aborted
		case history.Unknown:
			f |= Unknown
		}
	}
	if h.HasLists() {
		f |= Lists
	}
	if h.HasPredicates() {
		f |= Predicates
	}
	if slices.Contains(h.VerKind, history.Row) {
		f |= Rows
	}
	if h.Init != history.None {
		f |= Initial
	}
	if h.Txns.Level != nil {
		f |= Levels
	}
	return f
}

// Stoppable is a writer that stops once its context has ended.
type Stoppable struct {
	Ctx context.Context
	W   io.Writer
}

func (s Stoppable) Write(p []byte) (int, error) {
	if s.Ctx.Err() != nil {
		return 0, context.Cause(s.Ctx)
	}
	return s.W.Write(p)
}

// Compressed returns a writer that compresses into w as the ending of a file's name says: .gz, .zst, or any other for
// not at all. To close it leaves w open.
func Compressed(w io.Writer, name string) (io.WriteCloser, error) {
	switch filepath.Ext(name) {
	case ".gz":
		return gzip.NewWriter(w), nil
	case ".zst":
		return zstd.NewWriter(w)
	}
	return nopCloser{w}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// writeDir fills a temporary folder and renames it to a path that must not exist.
func writeDir(path string, h *history.History, f Format) error {
	if path == "-" {
		return fmt.Errorf("format %s is a folder and cannot be written to standard output", f.Name)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: exists already; expected a new folder", path)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = f.WriteDir(tmp, h); err == nil {
		if err = os.Chmod(tmp, 0o755); err == nil {
			err = os.Rename(tmp, path)
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return nil
}

// ErrEnding is the error for a file to write whose ending names no format.
var ErrEnding = errors.New("the ending names no format")

// Writable returns the errors of Write that do not depend on a history: no format has the file's ending (ErrEnding) or
// the name, or the format is only read. "-", and a file without an ending, are JSON lines if the name is "" or "auto".
func Writable(path, name string) error {
	_, err := writable(path, name)
	return err
}

func writable(path, name string) (Format, error) {
	f := isovet
	if name != "" && name != "auto" {
		var err error
		if f, err = named(name); err != nil {
			return f, err
		}
	} else {
		ext := filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst"))
		if ext == "" || path == "-" {
			return f, nil
		}
		var known []string
		for _, g := range All() {
			if g.Write == nil && g.WriteDir == nil {
				continue
			}
			if slices.Contains(g.Ext, ext) {
				return g, nil
			}
			known = append(known, g.Ext...)
		}
		return f, fmt.Errorf("%s: %w; expected %s, with .gz or .zst behind it or without", path, ErrEnding,
			strings.Join(known, ", "))
	}
	if f.Write == nil && f.WriteDir == nil {
		return f, fmt.Errorf("format %s is only read, not written", f.Name)
	}
	return f, nil
}
