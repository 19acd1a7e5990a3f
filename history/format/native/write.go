package native

import (
	"encoding/binary"
	"fmt"
	"io"
	"runtime"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
)

// Write writes a history. Read returns the same history, number for number, except for History.File. A history that
// Read would refuse is refused before anything is written. Cost: two passes over the columns, one for the checks and
// checksums, one for writing; no copy of them.
func Write(w io.Writer, h *history.History) error {
	x := restOf(h)
	v := newVerifier("", h, x)
	cols := columns(h, x)
	for i := range cols {
		if b := cols[i].bytes(); b != nil {
			v.add(&cols[i], b)
		}
	}
	if err := v.lengths(); err != nil {
		return fmt.Errorf("cannot be written as a native file: %s", err.text())
	}
	workers := runtime.GOMAXPROCS(0)
	if err := v.blocks(workers, func() error { return nil }); err != nil {
		return err
	}
	err := v.worst
	if err == nil {
		err = v.whole(workers)
	}
	if err != nil {
		return fmt.Errorf("cannot be written as a native file: %s", err.text())
	}

	head := header{version: x.version(h), sections: len(v.parts), init: h.Init, initial: h.Initial, lists: h.Meta.Lists}
	var table []byte
	end := headerSize + entrySize*int64(head.sections)
	for i := range v.parts {
		p := &v.parts[i]
		s := section{id: p.col.id, width: uint32(p.col.width), off: aligned(end), size: int64(len(p.data)),
			sum: p.sum()}
		table = s.append(table)
		end = s.off + s.size
	}
	head.size = end
	head.table = xxhash.Sum64(table)
	if _, err := w.Write(append(head.append(nil), table...)); err != nil {
		return err
	}
	var zeros [align]byte
	at := headerSize + int64(len(table))
	for i := range v.parts {
		data := v.parts[i].data
		if pad := aligned(at) - at; pad > 0 {
			if _, err := w.Write(zeros[:pad]); err != nil {
				return err
			}
			at += pad
		}
		if len(data) == 0 {
			continue
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
		at += int64(len(data))
	}
	return nil
}

// sum returns the section's checksum: the checksum of its blocks' checksums.
func (p *part) sum() uint64 {
	b := make([]byte, 0, 8*len(p.digest))
	for _, d := range p.digest {
		b = binary.LittleEndian.AppendUint64(b, d)
	}
	return xxhash.Sum64(b)
}
