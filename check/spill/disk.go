package spill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
// would run for long, and end in vain. What an earlier check left is overwritten, or used.
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
	return fmt.Errorf("%s: some %s of files are needed there, and %s are free; expected a folder with more room",
		e.o.Dir, room.Size(float64(need)), room.Size(float64(free)))
}
