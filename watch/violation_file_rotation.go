package watch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The file of violations is rotated when it takes a quarter of the allowed space. It is renamed after the number of
// its last line, and compressed. The oldest files are deleted if all together exceed the allowed space.

// violationsParts is the number of uncompressed files of violations that fit in the allowed space.
const violationsParts = 4

const oldViolations = "violations-%012d.jsonl"

// oldFile is a rotated file of violations.
type oldFile struct {
	name   string
	last   int64 // number of its last line
	packed bool
	size   int64
}

func oldFiles(dir string) (out []oldFile, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range list {
		x := oldFile{name: entry.Name()}
		if _, err := fmt.Sscanf(x.name, oldViolations, &x.last); err != nil {
			continue
		}
		plain := fmt.Sprintf(oldViolations, x.last)
		if x.packed = x.name == plain+compressed; !x.packed && x.name != plain {
			continue
		}
		st, err := entry.Info()
		if err != nil {
			return nil, err
		}
		x.size = st.Size()
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b oldFile) int {
		return cmp.Or(cmp.Compare(a.last, b.last), strings.Compare(a.name, b.name))
	})
	return out, nil
}

// mend finishes work that a killed process left unfinished, and lists the rotated files.
func (e *emitted) mend() (out []oldFile, err error) {
	all, err := oldFiles(e.o.dir)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if i+1 < len(all) && all[i+1].last == all[i].last { // the compressed file is complete: it has its name
			if err := os.Remove(filepath.Join(e.o.dir, all[i].name)); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, all[i])
	}
	return out, nil
}

func (x *oldFile) read(dir string, each func(n int64, line []byte)) error {
	f, err := os.Open(filepath.Join(dir, x.name))
	if err != nil {
		return err
	}
	defer f.Close()
	in, done, err := unpacked(f, x.packed)
	if err != nil {
		return err
	}
	defer done()
	if _, err := eachLine(in, each); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// rotate begins a new file. If it cannot compress or delete old files, a later call does.
func (e *emitted) rotate() error {
	path := filepath.Join(e.o.dir, violationsFile)
	if err := os.WriteFile(path+".new", nil, fileMode); err != nil { // before the other is renamed
		return e.notRotated(err)
	}
	if err := e.f.Close(); err != nil {
		return err
	}
	why := os.Rename(path, filepath.Join(e.o.dir, fmt.Sprintf(oldViolations, e.done)))
	var err error
	if why == nil {
		e.bytes = 0
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		e.f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err == nil {
		_, err = e.f.Seek(e.bytes, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("%s: %v", path, err) // not wrapped: free space does not bring the file back
	}
	if why == nil {
		why = e.tidy()
	}
	if why != nil {
		return e.notRotated(why)
	}
	return nil
}

// notRotated reports why rotating failed. A later call tries again.
func (e *emitted) notRotated(err error) error {
	e.o.log.Error("watch could not rotate the files of violations; it tries again", "folder", e.o.dir, "error", err)
	return nil
}

// tidy compresses the old files, and deletes the oldest.
func (e *emitted) tidy() error {
	all, err := oldFiles(e.o.dir)
	if err != nil {
		return err
	}
	for i := range all {
		if x := &all[i]; !x.packed {
			if err := packFile(filepath.Join(e.o.dir, x.name), func() bool { return false }); err != nil {
				return err
			}
		}
	}
	if all, err = oldFiles(e.o.dir); err != nil {
		return err
	}
	total := e.o.max / violationsParts // of the current file
	for _, x := range all {
		total += x.size
	}
	for _, x := range all {
		if total <= e.o.max {
			break
		}
		if err := os.Remove(filepath.Join(e.o.dir, x.name)); err != nil {
			return err
		}
		total -= x.size
	}
	return syncDir(e.o.dir)
}
