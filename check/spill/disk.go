package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"isovet/internal/filelock"
	"isovet/internal/room"
)

// opBytes is about how many bytes an operation takes on disk.
const opBytes = 10

// Disk is about how many bytes of files a check makes.
func Disk(in *Input) int64 { return opsOf(in)*opBytes + 8*in.Txns }

// opsOf guesses how many operations a history has.
func opsOf(in *Input) int64 { return max(in.Txns, in.Bytes/18) }

// Free is how many bytes may be written to a folder, which need not be there yet; false: it cannot be told.
func Free(dir string) (int64, bool) {
	for {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return freeAt(dir)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return 0, false
		}
		dir = up
	}
}

// enough refuses to begin where the disk has not even half of what is needed, which is known about only: the check
// would run for long, and then fail. What an earlier check left is overwritten, or used.
func (e *engine) enough() error {
	free, known := Free(e.o.Dir)
	if e.o.free != nil {
		free, known = e.o.free()
	}
	need := Disk(e.in)
	files, err := os.ReadDir(e.o.Dir)
	if err != nil || !known {
		return err
	}
	for _, f := range files {
		if st, err := f.Info(); err == nil && strings.HasPrefix(f.Name(), "map-") {
			need -= st.Size()
		}
	}
	if free >= need/2 {
		return nil
	}
	return fmt.Errorf("%s: the check needs about %s of disk there, and %s is free; expected a folder with more room",
		e.o.Dir, room.Size(float64(need)), room.Size(float64(free)))
}

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
				return fmt.Errorf("%s: another running check uses this folder; expected a folder for each "+
					"check", e.o.Dir)
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
