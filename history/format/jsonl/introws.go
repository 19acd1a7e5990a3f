package jsonl

import (
	"encoding/binary"

	"isovet/history"
)

// maxShapes bounds the shapes of rows that are recognised, and maxMisses the rows of other shapes after which no more
// shapes are learnt.
const (
	maxShapes = 4
	maxMisses = 64
)

// shapes lists the shapes of the rows of integers so far, the last row's first; see Shape of package history.
type shapes struct {
	of     *history.Builder // it numbers the shapes
	known  []shape
	misses int
	cells  []int64
	row    []byte
}

// shape is the text before each integer of a row.
type shape struct {
	id    uint32
	heads []rowHead
}

// rowHead is the text before an integer: its first eight bytes, or all, under a mask.
type rowHead struct {
	word, mask uint64
	text       []byte
}

func (x *rowHead) at(data []byte) bool {
	return binary.LittleEndian.Uint64(data)&x.mask == x.word &&
		(len(x.text) <= 8 || string(data[8:len(x.text)]) == string(x.text[8:]))
}

// shape learns the shape of a row of integers.
func (p *parser) shape(row []byte) {
	s := &p.shapes
	if p.draft != nil { // a draft forgets its shapes now and then
		return
	}
	if s.of != p.b {
		*s = shapes{of: p.b, cells: s.cells, row: s.row}
	}
	if len(s.known) == maxShapes || s.misses == maxMisses {
		return
	}
	s.misses++
	x, ok := p.b.Shape(row)
	if !ok {
		return
	}
	known := shape{id: x.ID}
	for _, h := range x.Heads {
		if len(h) > scanMargin/2 {
			return
		}
		var word [8]byte
		n := copy(word[:], h)
		known.heads = append(known.heads, rowHead{binary.LittleEndian.Uint64(word[:]), 1<<(8*n) - 1, h})
	}
	s.known = append(s.known, known)
}

// intRow reads the row at data[i] if it has a known shape. It returns the row as AppendRow of package history makes it,
// and the position behind it; 0 if the row is another, or unusual.
func (p *parser) intRow(data []byte, i, limit int) (row []byte, end int) {
	s := &p.shapes
	if s.of != p.b {
		return nil, 0
	}
next:
	for k := range s.known {
		x := &s.known[k]
		s.cells = s.cells[:0]
		at := i
		for h := range x.heads {
			if at > limit || !x.heads[h].at(data[at:]) {
				continue next
			}
			at += len(x.heads[h].text)
			if data[at] == '-' && data[at+1] == '0' {
				return nil, 0 // a zero, but not as we write it
			}
			var n int64
			if n, at = integer(data, at); at == 0 {
				return nil, 0
			}
			s.cells = append(s.cells, n)
		}
		if at > limit || data[at] != '}' {
			continue
		}
		if k > 0 {
			s.known[0], s.known[k] = s.known[k], s.known[0]
			x = &s.known[0]
		}
		s.row = history.AppendRow(s.row[:0], x.id, s.cells)
		return s.row, at + 1
	}
	return nil, 0
}
