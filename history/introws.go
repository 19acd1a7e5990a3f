package history

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Most rows have only integers. They are stored packed in the table of texts: not as JSON but as a shape, which has
// the text between the integers, and the integers in as few bytes as possible. That takes a third of the memory, and
// readers of columns need not parse digits again. Text returns the JSON.
//
// A packed row is packedMark, the number of its columns (1 to 255), its shape (a varint), then two bits for each
// column, from the least significant on, that say whether its integer has 1, 2, 4 or 8 bytes, and the integers, little
// endian, zigzag. A text that itself begins with packedMark is stored with packedMark and a zero before it. Whether a
// row is packed depends only on the row, so that equal rows are equal texts.

const (
	packedMark = 0xff // with which no UTF-8 begins
	maxPacked  = 255  // columns
)

// widthOf maps the number of bits of an integer to its code: it takes 1<<code bytes.
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

// AppendRow appends a row of integers in packed form. shape is one of the builder's (see Shape) with as many columns
// as there are integers.
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

// IntRow appends the integers of a row to cells and returns its shape, whose columns RowColumns names. ok is false if
// the row is not packed, which can happen even if it has only integers. Cost: some nanoseconds.
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

// raw returns a text as the table stores it.
func (t *Texts) raw(id uint32) []byte { return t.arena[t.off[id]:t.off[id+1]] }

// appendUnpacked appends the text that a stored text with packedMark represents.
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

// AppendText appends a text. Unlike Text it allocates nothing for a packed row.
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

// Shape describes the columns of rows of integers, in their order.
type Shape struct {
	ID uint32
	// Heads has the text before each integer in canonical JSON: {"a": and then ,"b":
	Heads [][]byte
}

// Shape returns the shape of a row in canonical JSON. ok is false if such a row is not packed.
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

// PackedValue is RowValue for a row in AppendRow's form.
func (b *Builder) PackedValue(row []byte) Value {
	return Value{Kind: Row, N: int64(b.Texts.intern(row, b.Texts.hashOf(row)))}
}

// split splits a row of integers into its shape and its integers. ok is false if it has other values, a column whose
// name needs escapes, no columns or too many. The results are valid until the next call.
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

// canonicalInt reads an integer in canonical form at the beginning of s. size is 0 if there is none.
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

// packRow returns a row as the table stores it: packed if it has only integers. The result is valid until the next
// call.
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

// Packed reports whether the texts from lo to hi have the form that NewPackedTexts requires: each packed row has a
// known shape, as many integers as the shape, and no other bytes. If not, it returns the first wrong one.
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

// skeletonColumns counts the columns of a shape's text. It returns −1 if the text is no shape.
func skeletonColumns(s []byte) (n int) {
	if len(s) == 0 || s[0] != '{' {
		return -1
	}
	for len(s) > 1 {
		if s[1] != '"' || n > 0 && s[0] != ',' {
			return -1
		}
		end := bytes.IndexByte(s[2:], '"')
		if end < 0 || end+3 >= len(s) || s[end+3] != ':' ||
			slices.ContainsFunc(s[2:end+2], func(c byte) bool { return c < ' ' || c == '\\' }) { // JSON escapes them
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

// reshape converts a stored text of another table for this one. to maps the other table's shapes to this one's; None
// means not known yet. The other table has a shape's text before its rows.
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
