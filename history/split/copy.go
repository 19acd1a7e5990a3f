package split

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/native"
	"isovet/internal/bounds"
)

// copyFrom is the size in bytes from which on ReadMapped copies. Compressed files count eight times.
var copyFrom = 64 << 20

func init() { bounds.Register("split.copy-from", &copyFrom) }

// ReadMapped is [Read] with less memory. It copies a large history of another format into a native file in the folder
// dir, and maps that file. The file's name is removed when it is open or, if the system cannot do that, the file is
// removed before ReadMapped returns. A mapped file takes space until the process ends. JSON lines and Parquet are
// copied in batches; memory has only native.Writer's tables, some 25 bytes a version. Other formats, and histories
// whose sessions are not in order, are in memory during the copying. A history with locking reads stays in memory,
// since native files cannot express them.
func ReadMapped(ctx context.Context, paths []string, o format.Options, dir string) (*history.History, error) {
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if !large(paths) {
		return Read(ctx, paths, o)
	}
	c := copying{ctx: ctx, o: o, dir: dir, name: strings.Join(paths, " ")}
	err := c.batches(paths)
	if err == nil {
		return c.mapped()
	}
	c.close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, full := errors.AsType[*os.PathError](err); full { // errors about the history are input errors
		return nil, fmt.Errorf("cannot make a temporary copy of the history: %w; expected free space in %s", err, dir)
	}
	// Only all of it tells, or words what is wrong with it.
	h, err := Read(ctx, paths, o)
	if err != nil || h.Txns.Locking != nil {
		return h, err
	}
	c = copying{ctx: ctx, o: o, dir: dir, name: h.File, notes: h.Notes, positions: h.Positions, run: h.Run}
	if err := c.create(func(w *bufio.Writer) error { return native.Write(w, h) }); err != nil {
		c.close()
		return nil, err
	}
	return c.mapped()
}

// large reports whether a history takes much memory and is no native file.
func large(paths []string) bool {
	var files []string
	for _, p := range paths {
		parts, _, err := format.Parts(p)
		if err != nil || !format.IsParts(p) {
			parts = []string{p}
		}
		files = append(files, parts...)
	}
	sum := int64(0)
	for _, f := range files {
		in, err := format.Open(f)
		if err != nil {
			return false // reading it says why
		}
		data, plain := in.Mapped()
		columns := native.Is(data)
		err = in.Close()
		st, serr := os.Stat(f)
		switch {
		case err != nil || serr != nil:
			return false
		case st.IsDir():
			_ = filepath.WalkDir(f, func(_ string, e os.DirEntry, err error) error {
				if err == nil {
					if i, err := e.Info(); err == nil && !i.IsDir() {
						sum += i.Size()
					}
				}
				return nil // what cannot be read is told later
			})
		case columns && len(files) == 1: // it is mapped anyway
		case plain:
			sum += st.Size()
		default:
			sum += 8 * st.Size()
		}
	}
	return sum >= int64(copyFrom)
}

// copying is a history that is copied into a native file.
type copying struct {
	ctx       context.Context
	o         format.Options
	dir, name string
	file      *os.File
	notes     []history.Note
	positions bool
	run       *history.Run
}

// errKeeps says that a native file cannot express something in the history.
var errKeeps = errors.New("locking reads")

func (c *copying) batches(paths []string) error {
	var w *native.Writer
	defer func() {
		if w != nil {
			w.Close()
		}
	}()
	if err := c.pieces(paths, func(s *Set) error {
		header, err := s.Header.History()
		if err == nil {
			w = native.NewWriter(c.dir, header)
		}
		return err
	}, func(h *history.History) error {
		if h.Txns.Locking != nil {
			return errKeeps
		}
		c.positions = c.positions || h.Positions
		var all history.History
		all.Notes = c.notes
		for _, n := range h.Notes {
			all.AddNote(n.Kind, n.Count, "%s", n.Text)
		}
		c.notes = all.Notes
		return w.Add(h)
	}); err != nil {
		return err
	}
	return c.create(func(b *bufio.Writer) error { return w.Finish(b) })
}

// errWhole says that a history cannot be read in part.
var errWhole = errors.New("only as a whole")

func (c *copying) pieces(paths []string, begin func(*Set) error, add func(*history.History) error) error {
	o := Options{Format: c.o.Format, RealTime: c.o.RealTime, Initial: c.o.Initial, Workers: c.o.Workers, Whole: 1}
	if told := c.o.Progress; told != nil {
		o.Progress = func(done, total int64) { told(done/2, total) }
	}
	s, err := Plan(c.ctx, paths, o)
	if err != nil {
		return err
	}
	for i := range s.Pieces {
		if s.Pieces[i].By == asWhole {
			return errWhole
		}
	}
	if err := begin(s); err != nil {
		return err
	}
	timed := false
	if o.RealTime == format.ByTime {
		for i := range s.Pieces {
			s.Pieces[i].RealTime = "" // of all files together
		}
	}
	err = s.Each(c.ctx, func(b *Batch) error {
		if c.o.Progress != nil && s.Txns > 0 {
			c.o.Progress(s.Bytes/2+int64(float64(s.Bytes)/2*float64(b.First)/float64(s.Txns)), s.Bytes)
		}
		timed = timed || b.H.Txns.Start != nil || b.H.Txns.End != nil
		return add(b.H)
	})
	if err == nil && o.RealTime == format.ByTime && !timed {
		return errWhole // which says that there are no times
	}
	return err
}

// create creates the file and removes its name at once, so that it disappears even if the process is killed. If the
// system cannot remove open files, close does.
func (c *copying) create(write func(*bufio.Writer) error) (err error) {
	if c.file, err = os.CreateTemp(c.dir, "isovet-copy-*.ivh"); err != nil {
		return err
	}
	_ = os.Remove(c.file.Name())
	w := bufio.NewWriterSize(c.file, 1<<18)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// close removes the file.
func (c *copying) close() {
	if c.file != nil {
		c.file.Close()
		os.Remove(c.file.Name())
		c.file = nil
	}
}

func (c *copying) mapped() (*history.History, error) {
	defer c.close()
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	h, err := native.ReadOpen(c.ctx, c.file, c.file.Name(), c.o.Workers)
	if err != nil {
		return nil, err
	}
	h.File, h.Notes, h.Positions, h.Run = c.name, c.notes, c.positions, c.run
	debug.FreeOSMemory()
	return h, nil
}
