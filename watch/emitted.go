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
	f      *os.File
	there  int64 // lines found when it was opened
	n      int64 // made since the beginning of the log
	proved int64 // of the lines
	dirty  bool
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
	return &emitted{f: f, there: int64(bytes.Count(b, []byte("\n"))), proved: int64(bytes.Count(b, proved))}, nil
}

// add numbers a violation and writes its line unless it is there already: nil then.
func (e *emitted) add(line func(n int64) ([]byte, error)) ([]byte, error) {
	e.n++
	if e.n <= e.there {
		return nil, nil
	}
	b, err := line(e.n)
	if err != nil {
		return nil, err
	}
	e.dirty = true
	if isProved(b) {
		e.proved++
	}
	_, err = e.f.Write(append(b, '\n'))
	return b, err
}

// proved stands in the lines of violations that are proved.
var proved = []byte(`"proved":true`)

func isProved(line []byte) bool { return bytes.Contains(line, proved) }

func (e *emitted) sync() error {
	if !e.dirty {
		return nil
	}
	e.dirty = false
	return e.f.Sync()
}
