package watch

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/klauspost/compress/zstd"

	"isovet/check/mechanism"
	"isovet/internal/saved"
	"isovet/level"
)

// factsReader reads the facts of a folder, as far as its latest checkpoint has them.
type factsReader struct {
	dir     string
	at, n   int64 // the file that is read, from 1; how many there are
	f       *os.File
	z       *zstd.Decoder
	r       *bufio.Reader
	head    factsHead // of the file that was opened last
	origin  int64
	deletes bool
}

// FactsError says that a file of facts cannot be read.
type FactsError struct {
	Path string
	Err  error
}

func (e *FactsError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }
func (e *FactsError) Unwrap() error { return e.Err }

func (x *factsReader) path() string { return filepath.Join(x.dir, fmt.Sprintf(factsName, x.at)) }

// next returns the next piece; none: that is all.
func (x *factsReader) next() ([]byte, error) {
	piece, err := x.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &FactsError{x.path(), err}
	}
	return piece, nil
}

// read returns io.EOF behind the last file.
func (x *factsReader) read() ([]byte, error) {
	for {
		if x.r == nil {
			if x.at == x.n {
				return nil, io.EOF
			}
			x.at++
			if err := x.open(); err != nil {
				return nil, err
			}
		}
		size, err := binary.ReadUvarint(x.r)
		if errors.Is(err, io.EOF) {
			if err := x.close(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if size > maxPiece {
			return nil, mechanism.ErrFacts
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(x.r, b); err != nil {
			return nil, fmt.Errorf("%w: %w", mechanism.ErrFacts, noEOF(err))
		}
		d := saved.Reader{B: b}
		if x.origin, x.deletes = d.Int(), d.Byte() == 1; d.Bad || len(d.B) == 0 {
			return nil, mechanism.ErrFacts
		}
		return d.B, nil
	}
}

// maxPiece is more than the facts of a batch take.
const maxPiece = 1 << 32

// noEOF has the end of a file in the midst be no end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// factsFiles lists the files that there are, the first ones of which may have been deleted.
func factsFiles(dir string) (all []int64, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		n := int64(0)
		if _, err := fmt.Sscanf(e.Name(), factsName, &n); err == nil && e.Name() == fmt.Sprintf(factsName, n) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, err
}

// seek opens the file that has a step, or the first one, if that has been deleted.
func (x *factsReader) seek(step uint64) error {
	all, err := factsFiles(x.dir)
	if err != nil {
		return err
	}
	if n := slices.Index(all, x.n); n < 0 || all[n]-all[0] != int64(n) { // one is missing
		x.at = 1
		for slices.Contains(all, x.at) && x.at < x.n {
			x.at++
		}
		return &FactsError{x.path(), fs.ErrNotExist}
	}
	begins := func(n int64) (_ uint64, err error) {
		x.at = n
		err = errors.Join(x.open(), x.close())
		if errors.Is(err, fs.ErrNotExist) { // it has been taken, and deleted just now
			return 0, nil
		}
		if err != nil {
			err = &FactsError{x.path(), err}
		}
		return x.head.Step, err
	}
	at := sort.Search(int(x.n-all[0]), func(i int) bool { // the last that does not begin behind the step
		begin, e := begins(all[0] + int64(i) + 1)
		err = cmp.Or(err, e)
		return begin > step
	})
	if err != nil {
		return err
	}
	x.at = all[0] + int64(at)
	if err := x.open(); err != nil {
		return &FactsError{x.path(), err}
	}
	return nil
}

// open opens a file, and reads what it begins with.
func (x *factsReader) open() (err error) {
	if x.f, err = os.Open(x.path()); err != nil {
		return err
	}
	if x.z, err = zstd.NewReader(x.f, zstd.WithDecoderConcurrency(1)); err != nil {
		return err
	}
	x.r = bufio.NewReaderSize(x.z, 1<<16)
	line, err := x.r.ReadBytes('\n')
	if err != nil {
		return noEOF(err)
	}
	if err := json.Unmarshal(line, &x.head); err != nil {
		return err
	}
	if x.head.Version != factsVersion || x.head.Profile == nil {
		return fmt.Errorf("facts of version %d; expected %d, this isovet's", x.head.Version, factsVersion)
	}
	if _, err := level.Parse(x.head.Level); err != nil {
		return err
	}
	return nil
}

func (x *factsReader) close() error {
	if x.f == nil {
		return nil
	}
	if x.z != nil {
		x.z.Close()
	}
	err := x.f.Close()
	x.f, x.z, x.r = nil, nil, nil
	return err
}

// factsTaken is a note of a merge to a process: what it has taken of its facts.
type factsTaken struct {
	Folder string `json:"folder"` // of the merge
	Steps  uint64 `json:"steps"`  // those before have been taken
	Serial uint64 `json:"serial"` // nothing follows any more from what transactions before did
}

const factsTakenFile = "facts-taken.json"

func (x *factsTaken) write(dir string) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	return disk{}.replace(filepath.Join(dir, factsTakenFile), append(text, '\n'))
}

// readFactsTaken returns nothing taken where there is no note.
func readFactsTaken(dir string) (x factsTaken, err error) {
	path := filepath.Join(dir, factsTakenFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	if err != nil {
		return x, fmt.Errorf("%s: %w", path, err)
	}
	return x, nil
}

// forgotten has the judge forget reads from which nothing follows any more, by what a merge has noted.
func (j *leopard) forgotten() error {
	if j.o.Of <= 1 || j.online == nil {
		return nil
	}
	taken, err := readFactsTaken(j.o.Folder)
	if err == nil {
		j.online.Forgotten(taken.Serial)
	}
	return err
}

// forgetFacts deletes files of facts that a merge has taken; those behind a number may be needed again.
func forgetFacts(dir string, most int64) error {
	taken, err := readFactsTaken(dir)
	if err != nil || taken.Steps == 0 {
		return err
	}
	all, err := factsFiles(dir)
	if err != nil {
		return err
	}
	for len(all) > 1 && all[0] < most {
		x := &factsReader{dir: dir, at: all[1]} // where it begins the one before ends
		if err := errors.Join(x.open(), x.close()); err != nil {
			return &FactsError{x.path(), err}
		}
		if x.head.Step > taken.Steps {
			return nil
		}
		x.at = all[0]
		if err := os.Remove(x.path()); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}
