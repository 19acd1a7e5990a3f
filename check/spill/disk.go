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

// opBytes estimates the bytes of an operation on disk.
const opBytes = 10

// Disk estimates the bytes of files that a check makes.
func Disk(in *Input) int64 { return opsOf(in)*opBytes + 8*in.Txns }

// opsOf estimates the number of operations of a history.
func opsOf(in *Input) int64 { return max(in.Txns, in.Bytes/18) }

// Free returns how many bytes may be written to a folder, which need not exist yet; false: unknown.
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

// enough returns an error if the disk has less than half of the estimated need: the check would run for long and then
// fail. Files of an earlier check count as free space, since they are overwritten or used again.
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
	return fmt.Errorf("%s: the check needs about %s of disk there, but only %s is free; expected a folder with more "+
		"free space", e.o.Dir, room.Size(float64(need)), room.Size(float64(free)))
}

// lockName is the file that locks the folder for one check.
const lockName = "isovet-spill.lock"

// take makes the folder, if need be, and locks it for this check.
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
		// The check that held the lock may have removed the file in the meantime.
		ours, err := f.Stat()
		if err == nil {
			if its, err := os.Stat(f.Name()); err == nil && os.SameFile(ours, its) {
				e.lock = f
				return nil
			}
		}
		if err = errors.Join(err, filelock.Close(f)); err != nil {
			return err
		}
	}
}
