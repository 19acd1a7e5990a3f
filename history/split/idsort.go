package split

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"

	"isovet/internal/bounds"
	"isovet/internal/heap"
)

// maxPages bounds the pages of ids in memory. If there are more, ids are sorted in a temporary file.
var maxPages = 1 << 17

func init() { bounds.Register("split.id-pages", &maxPages) }

// sorted has ids that were moved from memory to a temporary file, in sorted runs. If a duplicate is found there, its
// line is not known.
type sorted struct {
	f    *os.File
	runs []int64 // where they end
}

func (s *sorted) put(ids []int64) (err error) {
	if s.f == nil {
		if s.f, err = os.CreateTemp("", "isovet-ids-*"); err != nil {
			return err
		}
		_ = os.Remove(s.f.Name()) // later, where open files cannot be removed
	}
	slices.Sort(ids)
	w := bufio.NewWriterSize(s.f, 1<<18)
	var b [8]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint64(b[:], uint64(id))
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	end := int64(8 * len(ids))
	if n := len(s.runs); n > 0 {
		end += s.runs[n-1]
	}
	s.runs = append(s.runs, end)
	return w.Flush()
}

func (s *sorted) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	if e := os.Remove(s.f.Name()); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = cmp.Or(err, e)
	}
	s.f = nil
	return err
}

// twice returns an id that is in two runs, or in a run and in a full page.
func (s *sorted) twice(isFull func(page int64) bool) (id int64, found bool, err error) {
	from := int64(0)
	var readers []*bufio.Reader
	var next heap.Heap[int64, int32]
	pull := func(i int32) error {
		var b [8]byte
		switch _, err := io.ReadFull(readers[i], b[:]); err {
		case nil:
			next.Push(int64(binary.LittleEndian.Uint64(b[:])), i)
			return nil
		case io.EOF:
			return nil
		default:
			return err
		}
	}
	for i, end := range s.runs {
		readers = append(readers, bufio.NewReaderSize(io.NewSectionReader(s.f, from, end-from), 1<<16))
		from = end
		if err := pull(int32(i)); err != nil {
			return 0, false, err
		}
	}
	for first := true; next.Len() > 0; first = false {
		at, i := next.Pop()
		if !first && at == id || isFull(at>>pageBits) {
			return at, true, nil
		}
		id = at
		if err := pull(i); err != nil {
			return 0, false, err
		}
	}
	return 0, false, nil
}

// shed moves the pages to the file.
func (s *idSet) shed() error {
	var ids []int64
	for no, p := range s.pages {
		for w, bits := range p.bits {
			for b := range 64 {
				if bits>>b&1 != 0 {
					ids = append(ids, no<<pageBits|int64(w<<6|b))
				}
			}
		}
	}
	s.pages, s.last = nil, nil
	return s.out.put(ids)
}

// done returns a duplicate id that add did not notice, and removes the temporary file.
func (s *idSet) done() (id int64, found bool, err error) {
	if s.out.f == nil {
		return 0, false, nil
	}
	if err = s.shed(); err == nil {
		id, found, err = s.out.twice(s.isFull)
	}
	return id, found, cmp.Or(err, s.out.close())
}
