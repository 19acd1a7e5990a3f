package native

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"unsafe"

	"isovet/history"
	"isovet/internal/mapped"
)

// File is a mapped file. Slice reads some of its transactions without the others. Its History's columns lie in the
// mapping and are invalid once the file is closed.
type File struct {
	h     *history.History
	data  []byte
	unmap func() error
	v     *verifier
	list  []section
	// rows are the columns with an entry for each transaction, ops those with an entry for each operation.
	rows, ops []*part
}

// Open maps a plain file. It checks the places of the columns, but not their content: see Verify. Errors about the file
// are *history.InputError.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errAt(path, -1, "", "cannot open: %s", history.Reason(err))
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, errAt(path, -1, "", "cannot open: %s", history.Reason(err))
	}
	if st.Size() == 0 {
		return nil, truncated(path, 0, headerSize)
	}
	data, unmap, err := mapFile(f, st.Size())
	if err != nil {
		return nil, errAt(path, -1, "", "cannot map the file: %s", history.Reason(err))
	}
	n := &File{data: data, unmap: unmap}
	if err := n.open(path); err != nil {
		return nil, errors.Join(err, unmap())
	}
	return n, nil
}

// mapFile maps a file or, where the system does not do that, reads it into memory.
func mapFile(f *os.File, size int64) (data []byte, unmap func() error, err error) {
	data, unmap, err = mapped.File(f, size)
	if errors.Is(err, errors.ErrUnsupported) {
		data = buffer(int(size))
		_, err = io.ReadFull(f, data)
		unmap = func() error { return nil }
	}
	return data, unmap, err
}

func (f *File) open(path string) error {
	f.h = &history.History{File: path}
	f.v = newVerifier(path, f.h, &rest{})
	return f.guarded(func() (err error) {
		if err = f.v.columns(f.data, inPlace, &f.list); err != nil {
			return err
		}
		for i := range f.v.parts {
			switch p := &f.v.parts[i]; {
			case p.col.id >= 12 && p.col.id <= 23, p.col.id == levelsID:
				f.rows = append(f.rows, p)
			case p.col.id >= 24 && p.col.id <= 27:
				f.ops = append(f.ops, p)
			}
		}
		if n := parseMeta(f.v.x.meta, &f.h.Meta); n < len(f.v.x.meta) {
			return f.v.errorf(f.v.of(wrong(1, n, "expected five strings, each with its length before it, and no more")))
		}
		return nil
	})
}

// Close unmaps the file.
func (f *File) Close() error {
	if f.unmap == nil {
		return nil
	}
	u := f.unmap
	f.unmap = nil
	return u()
}

// History returns the whole file as a history, for its sizes, its header and the place of its initial transaction.
func (f *File) History() *history.History { return f.h }

// Ops returns the number of operations of transactions lo to hi; 0 if it cannot be read.
func (f *File) Ops(lo, hi uint32) (n int) {
	_ = f.guarded(func() error {
		n = int(f.h.Txns.OpOff[hi] - f.h.Txns.OpOff[lo])
		return nil
	})
	return n
}

// Verify checks the file as Read does: the checksums, and that a history can have this content. It releases the pages
// that it has read, except those of columns that others refer to. Cost: that of Read.
func (f *File) Verify(ctx context.Context, workers int) error {
	f.v.behind = mapped.ReleasePart
	defer f.Release()
	return f.guarded(func() error { return f.v.content(ctx, f.list, workers) })
}

// Ordered reports whether every session's transactions stand in the file in the order of the session. Cost: a look at
// each transaction.
func (f *File) Ordered() (ordered bool, err error) {
	err = f.guarded(func() error {
		h := f.h
		for s := range h.NumSessions() {
			txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
			for i := 1; i < len(txns); i++ {
				if txns[i] < txns[i-1] {
					return nil
				}
			}
		}
		ordered = true
		return nil
	})
	return ordered, err
}

// Do runs look, which reads the History. It returns an error, in place of a panic, if a page is gone.
func (f *File) Do(look func() error) error { return f.guarded(look) }

// Release gives the mapping's pages back to the system; they are read again where they are needed.
func (f *File) Release() { mapped.ReleasePart(f.data) }

// ReleaseRows gives back the pages of the columns of transactions lo to hi, and of their operations.
func (f *File) ReleaseRows(lo, hi uint32) {
	var op, end uint32
	if f.guarded(func() error {
		op, end = f.h.Txns.OpOff[lo], f.h.Txns.OpOff[hi]
		return nil
	}) != nil {
		return
	}
	part := func(p *part, lo, hi uint32) {
		w := p.col.width
		mapped.ReleasePart(p.data[min(len(p.data), int(lo)*w):min(len(p.data), int(hi)*w)])
	}
	for _, p := range f.rows {
		part(p, lo, hi)
	}
	for _, p := range f.ops {
		part(p, op, max(op, end))
	}
}

// guarded runs a function and turns two panics into errors: a page is gone since the file was cut off meanwhile, or an
// index is out of range, as it can be in a file that was not verified.
func (f *File) guarded(run func() error) (err error) {
	defer func(old bool) {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		if e, fault := r.(interface{ Addr() uintptr }); fault {
			if at := e.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(f.data))); at < uintptr(len(f.data)) {
				err = errAt(f.h.File, -1, "", "the file changed while it was read")
				return
			}
		} else if e, ok := r.(error); ok && outOfRange(e) {
			err = errAt(f.h.File, -1, "", "corrupt: %s", e.Error())
			return
		}
		panic(r)
	}(debug.SetPanicOnFault(true))
	return run()
}
