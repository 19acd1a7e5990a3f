package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Halter is a Source that the watch tells when it stops taking lines because the disk is full, and when it goes on.
type Halter interface{ Halt(on bool) }

// isFull reports whether an error means that the disk or the user's quota is full.
func isFull(err error) bool {
	var e syscall.Errno
	return errors.Is(err, syscall.ENOSPC) || errors.As(err, &e) && fullToo(e)
}

// fullEvery is the interval between two tests for free space.
var fullEvery = 200 * time.Millisecond

// patiently repeats what, which needs disk space, until it succeeds. It reports once that the disk is full, and once
// that there is space again. A failing call of what must have no effect.
func (w *watcher) patiently(ctx context.Context, file string, what func() error) error {
	err := what()
	if !isFull(err) {
		return err
	}
	w.cfg.Log.Error("the disk is full: watch accepts no line until space is free; no accepted line is lost", "file",
		file, "error", err)
	w.halt(true)
	defer w.halt(false)
	for isFull(err) {
		if err := Sleep(ctx, fullEvery); err != nil {
			return err
		}
		err = what()
	}
	if err == nil {
		w.cfg.Log.Info("the disk has free space again: watch goes on", "file", file)
	}
	return err
}

// put writes to the log. While the disk is full, it waits.
func (w *watcher) put(ctx context.Context, control string, b *Batch) (told Position, err error) {
	err = w.patiently(ctx, w.cfg.Dir, func() error {
		told, err = w.log.put(control, b)
		return err
	})
	return told, err
}

// halt tells the source and the metrics. Two goroutines may call it at once.
func (w *watcher) halt(on bool) {
	w.halted.halting.Lock()
	defer w.halted.halting.Unlock()
	before := w.halted.halts > 0
	if on {
		w.halted.halts++
	} else {
		w.halted.halts--
	}
	if before == (w.halted.halts > 0) {
		return
	}
	if h, ok := w.halted.source.(Halter); ok {
		h.Halt(on)
	}
	if w.cfg.Metrics != nil {
		w.cfg.Metrics.halt(on)
	}
}

// disk writes files. Tests use fail to make it fail.
type disk struct{ fail func() error }

func (d disk) write(f *os.File, b []byte) (int, error) {
	if d.fail != nil {
		if err := d.fail(); err != nil {
			n, _ := f.Write(b[:len(b)/2]) // as a full disk does
			return n, ofBound(f, err)
		}
	}
	n, err := f.Write(b)
	return n, ofBound(f, err)
}

// ofBound adds the file's name and a remedy to an error about the largest allowed size of a file.
func ofBound(f *os.File, err error) error {
	if !errors.Is(err, syscall.EFBIG) {
		return err
	}
	return fmt.Errorf("a limit keeps %s from growing: %w; raise the limit on file sizes (ulimit -f, or "+
		"LimitFSIZE= in a unit of systemd) and start again: nothing is lost", f.Name(), err)
}

// replace writes a file atomically. Its name survives a crash only after the folder is synced.
func (d disk) replace(path string, text []byte) error {
	f, err := create(path + ".new")
	if err != nil {
		return err
	}
	if _, err = d.write(f, text); err == nil {
		err = d.sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

func (d disk) sync(f *os.File) error {
	if d.fail != nil {
		if err := d.fail(); err != nil {
			return err
		}
	}
	return f.Sync()
}
