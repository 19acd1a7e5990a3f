package native

import (
	"context"
	"errors"
	"io"
	"os"
	"unsafe"

	"isovet/history"
	"isovet/internal/mapped"
)

// ReadFile reads a file. Its columns stay mapped until the process ends: see the package comment. Errors about the file
// are *history.InputError. Cost: one pass over the file for checksums and checks, on up to workers cores; memory for
// scratch: a bit a transaction, and where there are lists, predicates or an initial transaction, up to 5 bytes a key.
func ReadFile(ctx context.Context, path string, workers int) (*history.History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &history.InputError{File: path, Off: -1, Msg: "cannot open: " + history.Reason(err)}
	}
	defer f.Close()
	return ReadOpen(ctx, f, path, workers)
}

// ReadOpen is ReadFile for an open file, at its beginning; path is its name in errors. The history stays valid after
// the file is closed.
func ReadOpen(ctx context.Context, f *os.File, path string, workers int) (*history.History, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, &history.InputError{File: path, Off: -1, Msg: "cannot open: " + history.Reason(err)}
	}
	if !inPlace || !st.Mode().IsRegular() || st.Size() == 0 {
		return ReadFrom(ctx, f, path, workers)
	}
	data, unmap, err := mapped.File(f, st.Size())
	if err != nil {
		return ReadFrom(ctx, f, path, workers)
	}
	mapped.WillNeed(data)
	h, err := read(ctx, data, path, workers, true)
	if err != nil {
		return nil, errors.Join(err, unmap())
	}
	return h, nil
}

// ReadFrom reads a stream, which must end with the history.
// Cost: that of Read; memory: the file's size, and a third of it again while it grows.
func ReadFrom(ctx context.Context, r io.Reader, file string, workers int) (*history.History, error) {
	buf := buffer(headerSize)
	n, err := io.ReadFull(r, buf)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, errAt(file, int64(n), "", "cannot read on: %s", err)
	}
	head, err := parseHeader(buf[:n], file)
	if err != nil {
		return nil, err
	}
	// The stated size may be wrong: take at most four times the memory of the bytes read.
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		grown := buffer(int(min(head.size, max(1<<20, 4*int64(n)))))
		copy(grown, buf[:n])
		buf = grown
		more, err := io.ReadFull(r, buf[n:])
		n += more
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, truncated(file, int64(n), head.size)
		}
		if err != nil {
			return nil, errAt(file, int64(n), "", "cannot read on: %s", err)
		}
		if int64(n) == head.size {
			break
		}
	}
	// Read up to the end: a compressed stream has its own checksum there.
	switch more, err := io.ReadFull(r, make([]byte, 1)); {
	case more > 0:
		return nil, errAt(file, int64(n), "", "the file goes on; expected its end here, as its header says")
	case err != io.EOF:
		return nil, errAt(file, int64(n), "", "cannot read on: %s", err)
	}
	return read(ctx, buf, file, workers, true)
}

// Read reads a file's content from memory. The history's columns are views of data, which must not be changed any more,
// unless data is not aligned to 8 bytes; then they are copies.
func Read(ctx context.Context, data []byte, file string, workers int) (*history.History, error) {
	return read(ctx, data, file, workers, true)
}

// buffer returns n bytes, aligned for every column.
func buffer(n int) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, (n+7)/8)))), n)
}

// read is Read. The columns are views of data if view is set and data is aligned.
func read(ctx context.Context, data []byte, file string, workers int, view bool) (h *history.History, err error) {
	view = view && inPlace && uintptr(unsafe.Pointer(unsafe.SliceData(data)))%8 == 0
	v := newVerifier(file, &history.History{File: file}, &rest{})
	// Everything from here on may touch pages that are gone.
	if e := v.parallel(1, func() error {
		var list []section
		if err = v.columns(data, view, &list); err == nil {
			err = v.content(ctx, list, workers)
		}
		return nil
	}); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	return v.h, nil
}

// columns makes the history's columns from the sections of a file, and checks the header and the numbers of elements.
func (v *verifier) columns(data []byte, view bool, to *[]section) error {
	file, h, x := v.file, v.h, v.x
	head, err := parseHeader(data[:min(len(data), headerSize)], file)
	if err != nil {
		return err
	}
	list, err := parseTable(data, head, file)
	if err != nil {
		return err
	}
	*to = list
	for i, s := range list {
		at := headerSize + entrySize*int64(i)
		if known := shapesID + int(head.version) - 2; s.id == 0 || int(s.id) > known {
			return errAt(file, at, "table", "unknown section %d; expected 1 to %d", s.id, known)
		}
		c := &v.cols[s.id-1]
		if int(s.width) != c.width || s.size%int64(c.width) != 0 {
			return errAt(file, at+4, "table", "section %s has %d bytes in elements of %d; expected elements of %d",
				c.name, s.size, s.width, c.width)
		}
		b := data[s.off : s.off+s.size]
		v.add(c, b).off = s.off
		c.set(b, view)
	}
	if p := v.lengths(); p != nil {
		return v.errorf(p)
	}
	h.Init, h.Initial, h.Meta.Lists = head.init, head.initial, head.lists
	if h.Init != history.None && int64(h.Init) >= int64(h.NumTxns()) {
		return errAt(file, 32, "header", "initial transaction %d; expected one below %d, or none", h.Init, h.NumTxns())
	}
	if msg := v.badValue(h.Initial); msg != "" {
		return errAt(file, 36, "header", "initial value: %s", msg)
	}
	if head.version == 2 && x.shapes == nil {
		return errAt(file, headerSize, "table", "no section %s; expected it in version %d", v.cols[shapesID-1].name,
			head.version)
	}
	h.Texts = x.texts()
	return nil
}

// content checks the content of the columns.
func (v *verifier) content(ctx context.Context, list []section, workers int) error {
	file, h, x := v.file, v.h, v.x
	if err := v.blocks(workers, ctx.Err); err != nil {
		return err
	}
	for i := range v.parts {
		if p := &v.parts[i]; p.sum() != list[i].sum {
			return errAt(file, p.off, p.col.name, "corrupt: the checksum of the section is wrong (%d bytes from here)",
				len(p.data))
		}
	}
	if p := v.worst; p != nil {
		return v.errorf(p)
	}
	if n := parseMeta(x.meta, &h.Meta); n < len(x.meta) || len(x.meta) < 20 {
		return v.errorf(v.of(wrong(1, n, "expected five strings, each with its length before it, and no more")))
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p := v.whole(workers); p != nil {
		return v.errorf(p)
	}
	return nil
}

// errorf returns a problem as an error with its place in the file.
func (v *verifier) errorf(p *problem) error {
	e := errAt(v.file, 0, p.col.name, "element %d: %s", p.row, p.msg)
	if s := v.byID[p.id]; s != nil {
		e.Off = s.off + int64(p.row)*int64(p.col.width)
	} else {
		e.Off = headerSize // in the table, if the section is missing
	}
	return e
}
