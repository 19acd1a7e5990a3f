package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// emitted is the file of final violations, a JSON line each, in the order in which they became final.
type emitted struct {
	f      *os.File
	there  int64  // lines found when it was opened
	n      int64  // made since the beginning of the log
	bytes  int64  // of the file
	proved int64  // of the lines
	text   []byte // lines that are not written yet
	disk   disk
	told   func(line []byte) // may be nil
	// they are grouped
	incidents *Incidents
}

// emittedState is what a checkpoint says of the file.
type emittedState struct {
	N      int64 `json:"n"`
	Bytes  int64 `json:"bytes"`
	Proved int64 `json:"proved"`
}

func (e *emitted) state() emittedState { return emittedState{e.n, e.bytes, e.proved} }

// openEmitted opens the file, where from says how far it goes that is known; what stands behind that is found anew, and
// not written again. A file that is shorter has been cut off by somebody.
func openEmitted(dir string, from emittedState, disk disk, incidents *Incidents,
	told func(line []byte)) (_ *emitted, short bool, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "violations.jsonl"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	st, err := f.Stat()
	if err == nil && st.Size() < from.Bytes {
		from.Bytes, short = st.Size(), true
	}
	e := &emitted{f: f, n: from.N, there: from.N, bytes: from.Bytes, proved: from.Proved, disk: disk,
		told: told, incidents: incidents}
	if err == nil {
		_, err = f.Seek(from.Bytes, io.SeekStart)
	}
	in := bufio.NewReaderSize(f, 1<<16)
	for err == nil {
		var line []byte
		if line, err = in.ReadBytes('\n'); err == nil {
			e.there++
			e.bytes += int64(len(line))
			if isProved(line) {
				e.proved++
			}
		}
	}
	if err == io.EOF {
		err = f.Truncate(e.bytes)
	}
	if err == nil {
		_, err = f.Seek(e.bytes, io.SeekStart)
	}
	if err != nil {
		return nil, false, errors.Join(err, f.Close())
	}
	return e, short, nil
}

// add numbers a violation, to be written unless it is there already.
func (e *emitted) add(f *Finding) error {
	e.n++
	x := e.incidents.add(f, e.n)
	if e.n <= e.there && len(x.Lines) >= incidentLines {
		return nil
	}
	b, err := f.Line(e.n)
	if err != nil {
		return err
	}
	e.incidents.lined(x, b, isProved(b))
	if e.n <= e.there {
		return nil
	}
	if isProved(b) {
		e.proved++
	}
	e.text = append(append(e.text, b...), '\n')
	return nil
}

// proved stands in the lines of violations that are proved.
var proved = []byte(`"proved":true`)

func isProved(line []byte) bool { return bytes.Contains(line, proved) }

// sync writes what has been added, makes it safe, and tells it. If it fails the file is as it was.
func (e *emitted) sync() error {
	if len(e.text) == 0 {
		return nil
	}
	_, err := e.disk.write(e.f, e.text)
	if err == nil {
		err = e.disk.sync(e.f)
	}
	if err != nil {
		e2 := e.f.Truncate(e.bytes)
		if e2 == nil {
			_, e2 = e.f.Seek(e.bytes, io.SeekStart)
		}
		if e2 != nil {
			return fmt.Errorf("%s: %w, after: %v", e.f.Name(), e2, err)
		}
		return err
	}
	e.bytes += int64(len(e.text))
	if e.told != nil {
		for line := range bytes.Lines(e.text) {
			e.told(line[:len(line)-1])
		}
	}
	e.text = e.text[:0]
	return nil
}
