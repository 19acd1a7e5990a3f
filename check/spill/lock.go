package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"isovet/internal/filelock"
)

// lockName is the file in the folder by which one check at a time has it.
const lockName = "isovet-spill.lock"

// take makes the folder, if need be, and takes it for this check.
func (e *engine) take() error {
	for {
		if err := os.MkdirAll(e.o.Dir, 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(e.o.Dir, lockName), os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if err = filelock.Try(f); err != nil {
			f.Close()
			if errors.Is(err, filelock.ErrLocked) {
				return fmt.Errorf("%s: another check has its files there; expected a folder of its own for each "+
					"check that runs", e.o.Dir)
			}
			return err
		}
		// Who had it before may have removed it in the meantime.
		ours, err := f.Stat()
		if err == nil {
			if its, err := os.Stat(f.Name()); err == nil && os.SameFile(ours, its) {
				e.lock = f
				return nil
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// leaveFolder gives it back, and removes it if nothing else is in it.
func (e *engine) leaveFolder() {
	err := os.Remove(e.lock.Name())
	e.lock.Close()
	if err != nil { // it may be that files that are open cannot be removed
		os.Remove(e.lock.Name())
	}
	os.Remove(e.o.Dir)
}
