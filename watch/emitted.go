package watch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// emitted is the file of final violations, a JSON line each, in the order in which they became final.
type emitted struct {
	f     *os.File
	there int64 // lines found when it was opened
	n     int64 // made since the beginning of the log
	dirty bool
}

func openEmitted(dir string) (*emitted, error) {
	f, err := os.OpenFile(filepath.Join(dir, "violations.jsonl"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err == nil {
		whole := int64(bytes.LastIndexByte(b, '\n') + 1)
		if err = f.Truncate(whole); err == nil {
			_, err = f.Seek(whole, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &emitted{f: f, there: int64(bytes.Count(b, []byte("\n")))}, nil
}

// add writes a line unless it is there already; fresh says that it was not.
func (e *emitted) add(line []byte) (fresh bool, err error) {
	e.n++
	if e.n <= e.there {
		return false, nil
	}
	e.dirty = true
	_, err = e.f.Write(append(line, '\n'))
	return true, err
}

func (e *emitted) sync() error {
	if !e.dirty {
		return nil
	}
	e.dirty = false
	return e.f.Sync()
}
