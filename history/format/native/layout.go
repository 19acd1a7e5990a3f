package native

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
)

const (
	// magic begins every file. As in PNG, a transfer as text breaks it.
	magic = "\x89IVH\r\n\x1a\n"
	// Version is the greatest version of the layout that this package writes and reads. A history with levels of
	// transactions needs version 3, one with packed rows of integers version 2; others are written as version 1.
	Version = 3

	headerSize  = 64
	entrySize   = 32
	align       = 64
	maxSections = 64

	// blockRows is the number of a section's elements under one checksum. It is small enough that a block of all
	// columns of a table stays in the cache between hashing and checking.
	blockRows = 1 << 15
)

// Is reports whether content that begins with head is in this format.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// header is the first 64 bytes.
type header struct {
	version  uint32
	sections int
	size     int64  // of the file
	table    uint64 // checksum of the table
	init     uint32
	initial  history.Value
	lists    bool
}

func (h *header) append(dst []byte) []byte {
	from := len(dst)
	le := binary.LittleEndian
	dst = append(dst, magic...)
	dst = le.AppendUint32(dst, h.version)
	dst = le.AppendUint32(dst, uint32(h.sections))
	dst = le.AppendUint64(dst, uint64(h.size))
	dst = le.AppendUint64(dst, h.table)
	dst = le.AppendUint32(dst, h.init)
	lists := byte(0)
	if h.lists {
		lists = 1
	}
	dst = append(dst, byte(h.initial.Kind), lists, 0, 0)
	dst = le.AppendUint64(dst, uint64(h.initial.N))
	dst = le.AppendUint64(dst, 0)
	return le.AppendUint64(dst, xxhash.Sum64(dst[from:]))
}

// section is an entry of the table.
type section struct {
	id, width uint32
	off, size int64
	sum       uint64
}

func (s *section) append(dst []byte) []byte {
	le := binary.LittleEndian
	dst = le.AppendUint32(dst, s.id)
	dst = le.AppendUint32(dst, s.width)
	dst = le.AppendUint64(dst, uint64(s.off))
	dst = le.AppendUint64(dst, uint64(s.size))
	return le.AppendUint64(dst, s.sum)
}

func aligned(n int64) int64 { return (n + align - 1) &^ (align - 1) }

func errAt(file string, off int64, field, format string, args ...any) *history.InputError {
	return &history.InputError{File: file, Off: off, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// parseHeader reads the first headerSize bytes, or all there are if fewer.
func parseHeader(data []byte, file string) (*header, error) {
	le := binary.LittleEndian
	if !bytes.HasPrefix([]byte(magic), data[:min(len(data), len(magic))]) {
		return nil, errAt(file, 0, "", "does not begin as a native history does; expected the bytes %q", magic)
	}
	if len(data) < headerSize {
		return nil, truncated(file, int64(len(data)), headerSize)
	}
	if v := le.Uint32(data[8:]); v == 0 || v > Version {
		return nil, errAt(file, 8, "version", "version %d of the native format; expected 1 to %d", v, Version)
	}
	if xxhash.Sum64(data[:56]) != le.Uint64(data[56:]) {
		return nil, errAt(file, 0, "header", "corrupt: the checksum of the header is wrong")
	}
	h := &header{
		version:  le.Uint32(data[8:]),
		sections: int(le.Uint32(data[12:])),
		size:     int64(le.Uint64(data[16:])),
		table:    le.Uint64(data[24:]),
		init:     le.Uint32(data[32:]),
		initial:  history.Value{Kind: history.ValueKind(data[36]), N: int64(le.Uint64(data[40:]))},
		lists:    data[37] == 1,
	}
	switch least := headerSize + entrySize*int64(h.sections); {
	case h.sections > maxSections:
		return nil, errAt(file, 12, "header", "%d sections; expected at most %d", h.sections, maxSections)
	case h.size < least || h.size > math.MaxInt64-2*align:
		return nil, errAt(file, 16, "header", "a file size of %d; expected at least %d", h.size, least)
	case data[37] > 1:
		return nil, errAt(file, 37, "header", "flag %d; expected 0 or 1", data[37])
	case data[38]|data[39] != 0 || le.Uint64(data[48:]) != 0:
		return nil, errAt(file, 38, "header", "reserved bytes are set; expected zeros")
	}
	return h, nil
}

func truncated(file string, have, want int64) error {
	return errAt(file, have, "", "truncated: the file ends after %d bytes; expected %d", have, want)
}

// parseTable reads the table of sections and checks that the sections follow each other, with zeros between, to the
// file's end.
func parseTable(data []byte, h *header, file string) ([]section, error) {
	le := binary.LittleEndian
	if n := int64(len(data)); n < h.size {
		return nil, truncated(file, n, h.size)
	} else if n > h.size {
		return nil, errAt(file, h.size, "", "the file goes on; expected its end here, as its header says")
	}
	end := headerSize + entrySize*int64(h.sections)
	table := data[headerSize:end]
	if xxhash.Sum64(table) != h.table {
		return nil, errAt(file, headerSize, "table", "corrupt: the checksum of the table of sections is wrong")
	}
	list := make([]section, h.sections)
	for i := range list {
		e := table[i*entrySize:]
		s := section{
			id: le.Uint32(e), width: le.Uint32(e[4:]),
			off: int64(le.Uint64(e[8:])), size: int64(le.Uint64(e[16:])), sum: le.Uint64(e[24:]),
		}
		at := headerSize + entrySize*int64(i)
		begin := aligned(end)
		switch {
		case i > 0 && s.id <= list[i-1].id:
			return nil, errAt(file, at, "table", "section %d after section %d; expected ascending numbers", s.id,
				list[i-1].id)
		case s.off != begin || begin > h.size:
			return nil, errAt(file, at+8, "table", "section %d begins at byte %d; expected %d", s.id, s.off, begin)
		case s.size < 0 || s.size > h.size-s.off:
			return nil, errAt(file, at+16, "table", "section %d has %d bytes; expected at most %d", s.id, s.size,
				h.size-s.off)
		}
		if p := nonZero(data[end:begin]); p >= 0 {
			return nil, errAt(file, end+int64(p), "", "a byte between sections is set; expected zeros")
		}
		end = s.off + s.size
		list[i] = s
	}
	if end != h.size {
		return nil, errAt(file, end, "", "the sections end here, the file has %d bytes; expected the same", h.size)
	}
	return list, nil
}

func nonZero(b []byte) int { return slices.IndexFunc(b, func(c byte) bool { return c != 0 }) }
