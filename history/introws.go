package history

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Rows of integers, which nearly all rows are, stand packed among the texts: not as JSON but as the shape that they
// have, what JSON has between their integers, and the integers in as few bytes as hold them. That is a third of the
// memory, and readers of columns need not parse digits again. Text returns the JSON.
//
// A packed row is: packedMark, the number of its columns (1 to 255), its shape (a varint), then two bits a column, from
// the least significant on, that say whether the column has 1, 2, 4 or 8 bytes, and these, little endian, zigzag. A
// text that begins with packedMark itself has that and a zero before it. Whether a row is packed follows from the row
// alone, so that equal rows are equal texts.

const (
	packedMark = 0xff // with which no UTF-8 begins
	maxPacked  = 255  // columns
)

// widthOf has, for how many bits an integer takes, its code: 1<<code bytes.
var widthOf = func() (w [65]uint8) {
	for n := range w {
		switch {
		case n > 32:
			w[n] = 3
		case n > 16:
			w[n] = 2
		case n > 8:
			w[n] = 1
		}
	}
	return w
}()

// AppendRow appends a row of integers as it stands packed: the shape is one of the builder's, see Shape, with as many
// columns as there are integers.
func AppendRow(dst []byte, shape uint32, cells []int64) []byte {
	dst = append(dst, packedMark, byte(len(cells)))
	if shape < 0x80 {
		dst = append(dst, byte(shape))
	} else {
		dst = binary.AppendUvarint(dst, uint64(shape))
	}
	codes := len(dst)
	for n := len(cells); n > 0; n -= 4 {
		dst = append(dst, 0)
	}
	for i, c := range cells {
		z := uint64(c)<<1 ^ uint64(c>>63)
		w := widthOf[bits.Len64(z)]
		dst[codes+i>>2] |= w << (i & 3 * 2)
		n := len(dst) + 1<<w
		dst = binary.LittleEndian.AppendUint64(dst, z)[:n]
	}
	return dst
}

// cellsOf appends the integers of a packed row.
func cellsOf(raw []byte, cells []int64) (shape uint32, out []int64) {
	n, at := int(raw[1]), 3
	if shape = uint32(raw[2]); shape >= 0x80 {
		x, size := binary.Uvarint(raw[2:])
		shape, at = uint32(x), 2+size
	}
	codes := raw[at:]
	data := codes[(n+3)>>2:]
	for i := range n {
		w := uint(1) << (codes[i>>2] >> (i & 3 * 2) & 3)
		var z uint64
		switch {
		case len(data) >= 8:
			z = binary.LittleEndian.Uint64(data) & (1<<(8*w) - 1) // of 8 bytes all: 1<<64 is 0
		default:
			for j := int(w) - 1; j >= 0; j-- {
				z = z<<8 | uint64(data[j])
			}
		}
		data = data[w:]
		cells = append(cells, int64(z>>1)^-int64(z&1))
	}
	return shape, cells
}

// IntRow returns the columns of a row, if it is one of integers: its shape, whose columns RowColumns names, and the
// integers in that order, appended to cells. A row may be one and stand as JSON; then ok is false too.
// Cost: some nanoseconds.
func (t *Texts) IntRow(id uint32, cells []int64) (shape uint32, out []int64, ok bool) {
	if !t.IsPacked(id) {
		return 0, cells, false
	}
	shape, out = cellsOf(t.raw(id), cells)
	return shape, out, true
}

// IsPacked reports whether a text is a row that IntRow reads.
func (t *Texts) IsPacked(id uint32) bool {
	raw := t.raw(id)
	return len(raw) > 1 && raw[0] == packedMark && raw[1] > 0 && !t.plain
}

// RowColumns returns the columns of a shape of rows.
func (t *Texts) RowColumns(shape uint32) (names []string) {
	s := t.raw(t.shapes[shape])
	for i := 1; i < len(s); i++ {
		end := bytes.IndexByte(s[i+1:], '"')
		names = append(names, string(s[i+1:i+1+end]))
		i += end + 3
	}
	return names
}

// raw is a text as it stands in the arena.
func (t *Texts) raw(id uint32) []byte { return t.arena[t.off[id]:t.off[id+1]] }

// appendUnpacked appends what a text that begins with packedMark stands for.
func (t *Texts) appendUnpacked(dst, raw []byte) []byte {
	if raw[1] == 0 {
		return append(dst, raw[2:]...)
	}
	var room [16]int64
	shape, cells := cellsOf(raw, room[:0])
	s := t.raw(t.shapes[shape])
	for _, c := range cells {
		colon := bytes.IndexByte(s[2:], '"') + 4 // names have no quotes
		dst = append(dst, s[:colon]...)
		dst = strconv.AppendInt(dst, c, 10)
		s = s[colon:]
	}
	return append(dst, '}')
}

// AppendText appends a text. Unlike Text it allocates nothing for a row that stands packed.
func (t *Texts) AppendText(dst []byte, id uint32) []byte {
	raw := t.raw(id)
	if len(raw) > 0 && raw[0] == packedMark && !t.plain {
		return t.appendUnpacked(dst, raw)
	}
	return append(dst, raw...)
}

// shape returns the number of a shape: a row without its integers, {"a":,"b":}.
func (t *Texts) shape(skeleton []byte) uint32 {
	if int(t.lastShape) < len(t.shapes) && string(t.raw(t.shapes[t.lastShape])) == string(skeleton) {
		return t.lastShape
	}
	id := t.intern(skeleton, t.hashOf(skeleton))
	if t.shapeOf == nil {
		t.shapeOf = make(map[uint32]uint32)
		for i, s := range t.shapes {
			t.shapeOf[s] = uint32(i)
		}
	}
	n, ok := t.shapeOf[id]
	if !ok {
		n = uint32(len(t.shapes))
		t.shapes = append(t.shapes, id)
		t.shapeOf[id] = n
		if int(n) == len(t.shapeHash) {
			t.shapeHash = append(t.shapeHash, t.hashOf(skeleton))
		}
	}
	t.lastShape = n
	return n
}

// Shape is the columns of rows of integers, in their order.
type Shape struct {
	ID uint32
	// Heads has what stands before each integer in canonical JSON: {"a": and then ,"b":
	Heads [][]byte
}

// Shape returns the shape of a row in canonical JSON; ok is false if it is not one that stands packed.
func (b *Builder) Shape(canonical []byte) (s Shape, ok bool) {
	skeleton, cells, ok := b.Texts.split(canonical)
	if !ok {
		return s, false
	}
	s.ID = b.Texts.shape(skeleton)
	rest := bytes.Clone(skeleton)
	for range cells {
		colon := bytes.IndexByte(rest[2:], '"') + 4
		s.Heads = append(s.Heads, rest[:colon])
		rest = rest[colon:]
	}
	return s, true
}

// PackedValue is RowValue for a row as AppendRow makes it.
func (b *Builder) PackedValue(row []byte) Value {
	return Value{Kind: Row, N: int64(b.Texts.intern(row, b.Texts.hashOf(row)))}
}

// split takes a row of integers apart; ok is false if it is not one, or has a column whose name needs escapes, or none
// or too many. What it returns is good until the next call.
func (t *Texts) split(row []byte) (skeleton []byte, cells []int64, ok bool) {
	t.skeleton, t.cells = t.skeleton[:0], t.cells[:0]
	s := row
	if len(s) < 2 || s[0] != '{' || s[1] == '}' {
		return nil, nil, false
	}
	for {
		if len(s) < 2 || s[1] != '"' {
			return nil, nil, false
		}
		end := bytes.IndexByte(s[2:], '"') + 2
		if end < 2 || end+1 >= len(s) || s[end+1] != ':' || bytes.IndexByte(s[2:end], '\\') >= 0 {
			return nil, nil, false
		}
		t.skeleton = append(t.skeleton, s[:end+2]...)
		s = s[end+2:]
		n, size := canonicalInt(s)
		if size == 0 || len(t.cells) == maxPacked || size == len(s) {
			return nil, nil, false
		}
		t.cells = append(t.cells, n)
		switch s = s[size:]; s[0] {
		case ',':
		case '}':
			t.skeleton = append(t.skeleton, '}')
			return t.skeleton, t.cells, len(s) == 1
		default:
			return nil, nil, false
		}
	}
}

// canonicalInt reads an integer that s begins with, written as we write it; size 0: there is none.
func canonicalInt(s []byte) (n int64, size int) {
	if len(s) > 0 && s[0] == '-' {
		size = 1
	}
	first := size
	var u uint64
	for ; size < len(s) && s[size]-'0' <= 9; size++ {
		if u > math.MaxUint64/10-1 {
			return 0, 0
		}
		u = 10*u + uint64(s[size]-'0')
	}
	switch {
	case size == first, s[first] == '0' && size > 1: // no digits, a zero before others, or minus zero
		return 0, 0
	case first == 0 && u <= math.MaxInt64:
		return int64(u), size
	case first == 1 && u <= 1<<63:
		return -int64(u), size
	}
	return 0, 0
}

// packRow returns how a row stands among the texts: packed if it is one of integers. What it returns is good until the
// next call.
func (t *Texts) packRow(canonical []byte) []byte {
	if t.plain {
		return canonical
	}
	skeleton, cells, ok := t.split(canonical)
	if !ok {
		return canonical
	}
	t.row = AppendRow(t.row[:0], t.shape(skeleton), cells)
	return t.row
}

// Packed reports whether the texts from lo up to hi are what NewPackedTexts expects: what stands packed has a shape,
// and as many integers as that, no more bytes and no fewer. If not, it returns which is not.
func (t *Texts) Packed(lo, hi uint32) (wrong uint32, ok bool) {
	columns := make([]int, len(t.shapes)) // 0: not counted yet
	for id := lo; id < hi; id++ {
		raw := t.raw(id)
		if len(raw) == 0 || raw[0] != packedMark || len(raw) > 1 && raw[1] == 0 {
			continue
		}
		if len(raw) < 3 {
			return id, false
		}
		n := int(raw[1])
		shape, size := binary.Uvarint(raw[2:])
		codes := 2 + size
		data := codes + (n+3)/4
		if size <= 0 || shape >= uint64(len(t.shapes)) || data > len(raw) {
			return id, false
		}
		if columns[shape] == 0 {
			columns[shape] = skeletonColumns(t.raw(t.shapes[shape]))
		}
		for i := range n {
			data += 1 << (raw[codes+i>>2] >> (i & 3 * 2) & 3)
		}
		if columns[shape] != n || data != len(raw) {
			return id, false
		}
	}
	return 0, true
}

// skeletonColumns counts the columns of a shape's text; -1: it is none.
func skeletonColumns(s []byte) (n int) {
	if len(s) == 0 || s[0] != '{' {
		return -1
	}
	for len(s) > 1 {
		if s[1] != '"' || n > 0 && s[0] != ',' {
			return -1
		}
		end := bytes.IndexByte(s[2:], '"')
		if end < 0 || end+3 >= len(s) || s[end+3] != ':' || slices.ContainsFunc(s[2:end+2], escaped) {
			return -1
		}
		s = s[end+4:]
		n++
	}
	if string(s) != "}" || n == 0 {
		return -1
	}
	return n
}

// escaped reports whether a byte stands in JSON only behind a backslash, or is one.
func escaped(c byte) bool { return c < ' ' || c == '\\' }

// reshape returns a text of another table as it stands in this one. to are the numbers that the other's shapes have in
// it, None: not asked for yet; a shape's own text is there before its rows.
func (t *Texts) reshape(raw []byte, o *Texts, to []uint32) []byte {
	if len(raw) < 2 || raw[0] != packedMark || raw[1] == 0 {
		return raw
	}
	shape, size := binary.Uvarint(raw[2:])
	if to[shape] == None {
		to[shape] = t.shape(o.raw(o.shapes[shape]))
	}
	t.row = append(t.row[:0], raw[:2]...)
	t.row = binary.AppendUvarint(t.row, uint64(to[shape]))
	t.row = append(t.row, raw[2+size:]...)
	return t.row
}
