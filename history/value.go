package history

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"isovet/internal/keyed"
)

// ValueKind says what a Value holds.
type ValueKind uint8

const (
	Null ValueKind = iota // the key is absent: not yet inserted, or deleted
	Int
	String
	Bool
	Row // column → scalar, as canonical JSON (columns sorted, no spaces)
)

func (k ValueKind) String() string {
	switch k {
	case Null:
		return "null"
	case Int:
		return "integer"
	case String:
		return "string"
	case Bool:
		return "boolean"
	case Row:
		return "row"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Value is an interned value, or a key: equal values of one history (or of one Builder) are equal Values. N is the
// integer, 0 or 1 for a boolean, or the id of the text of a string or row (see [Texts]).
type Value struct {
	N    int64
	Kind ValueKind
}

// IntValue is the Value of an integer.
func IntValue(n int64) Value { return Value{N: n, Kind: Int} }

// BoolValue is the Value of a boolean.
func BoolValue(b bool) Value {
	if b {
		return Value{N: 1, Kind: Bool}
	}
	return Value{Kind: Bool}
}

// Texts interns strings: id → bytes, stored in one arena, and bytes → id, by open addressing. The hash has no seed, so
// that tables of different goroutines can be merged, and versions have the same numbers in every run.
type Texts struct {
	arena []byte
	off   []uint32 // len = number of texts + 1
	hash  []uint64 // nil: not made yet, see NewTexts
	slot  []uint64 // the upper half of the hash and id+1; 0: free. A text's place follows from the half alone.
	shift uint8    // 64 less the places' bits
	in    int      // how many texts have slots
	loose []uint64 // bit set of the texts that have none, see add; nil: there are none
	full  bool     // the arena is beyond what off can say; Build refuses it

	shapes    []uint32          // of rows that stand packed: texts; see introws.go
	plain     bool              // no row stands packed, and packedMark means nothing
	marked    bool              // some text begins with packedMark itself
	shapeOf   map[uint32]uint32 // text → shape; nil: not made yet
	shapeHash []uint64          // of the shapes' texts; of those that it has
	lastShape uint32            // that was asked for
	skeleton  []byte            // scratch
	cells     []int64
	row       []byte
}

// Len returns the number of texts.
func (t *Texts) Len() int { return max(len(t.off)-1, 0) }

// Text returns the bytes of a text, which must not be changed. For a packed row it allocates them.
func (t *Texts) Text(id uint32) []byte {
	raw := t.arena[t.off[id]:t.off[id+1]]
	if len(raw) > 0 && raw[0] == packedMark && !t.plain {
		return t.appendUnpacked(nil, raw)
	}
	return raw
}

// Hash returns the hash of a text. It is the same for equal texts in all tables.
func (t *Texts) Hash(id uint32) uint64 {
	if t.hash == nil {
		return t.hashOf(t.raw(id))
	}
	return t.hash[id]
}

// NewTexts returns a table of different texts: text i is arena[off[i]:off[i+1]]. The slices are used and never written
// to, so that they may be in read-only memory. Cost: none; the index from bytes to ids is made when Intern first needs
// it.
func NewTexts(arena []byte, off []uint32) *Texts {
	return &Texts{arena: slices.Clip(arena), off: slices.Clip(off), plain: true}
}

// NewPackedTexts is NewTexts for the result of Layout if that has shapes. Packed checks that the texts have this form.
func NewPackedTexts(arena []byte, off, shapes []uint32) *Texts {
	return &Texts{arena: slices.Clip(arena), off: slices.Clip(off), shapes: slices.Clip(shapes), marked: true}
}

// Layout returns the texts in the form for NewTexts or, if there are shapes, for NewPackedTexts: then rows of integers
// are packed in the arena. The slices must not be changed.
func (t *Texts) Layout() (arena []byte, off, shapes []uint32) {
	if len(t.shapes) > 0 || !t.marked {
		return t.arena, t.off, t.shapes
	}
	for id := range t.Len() {
		off = append(off, uint32(len(arena)))
		arena = t.AppendText(arena, uint32(id))
	}
	return arena, append(off, uint32(len(arena))), nil
}

// Intern returns the id of a text, which is the same for equal bytes. Cost: one hash and usually one comparison.
func (t *Texts) Intern(b []byte) uint32 {
	if len(b) > 0 && b[0] == packedMark && !t.plain {
		b = append([]byte{packedMark, 0}, b...)
		t.marked = true
	}
	return t.intern(b, t.hashOf(b))
}

// hashOf returns the hash of a stored text, the same in all tables. For a packed row it uses the shape's text instead
// of its number.
func (t *Texts) hashOf(raw []byte) uint64 {
	if len(raw) < 3 || raw[0] != packedMark || raw[1] == 0 || t.plain {
		return xxhash.Sum64(raw)
	}
	shape, size := uint64(raw[2]), 1
	if shape >= 0x80 {
		shape, size = binary.Uvarint(raw[2:])
	}
	if shape < uint64(len(t.shapeHash)) {
		return mix(xxhash.Sum64(raw[2+size:]) ^ t.shapeHash[shape])
	}
	return mix(xxhash.Sum64(raw[2+size:]) ^ xxhash.Sum64(t.raw(t.shapes[shape])))
}

// intern is Intern for a stored text.
func (t *Texts) intern(b []byte, h uint64) uint32 {
	if 4*(t.in+1) > 3*len(t.slot) {
		t.grow()
	}
	mask := uint64(len(t.slot) - 1)
	for i := h >> t.shift; ; i = (i + 1) & mask {
		s := t.slot[i]
		if s == 0 {
			if len(t.arena)+len(b) > math.MaxUint32 {
				t.full = true
				b = nil
			}
			id := uint32(len(t.hash))
			t.slot[i] = h>>32<<32 | uint64(id+1)
			t.in++
			t.hash = append(t.hash, h)
			t.arena = append(t.arena, b...)
			t.off = append(t.off, uint32(len(t.arena)))
			return id
		}
		if s>>32 == h>>32 && string(t.raw(uint32(s)-1)) == string(b) {
			return uint32(s) - 1
		}
	}
}

// grow doubles the number of slots. It moves entries in their order, so that memory is accessed sequentially.
func (t *Texts) grow() {
	if len(t.off) == 0 {
		t.off = append(t.off, 0)
	}
	old := t.slot
	if old == nil {
		t.ready()
		old = make([]uint64, 0, len(t.hash))
		for id, h := range t.hash {
			if !t.isLoose(uint32(id)) {
				old = append(old, h>>32<<32|uint64(id+1))
			}
		}
		t.in = len(old)
	}
	size := max(16, len(t.slot))
	for 3*size < 4*(t.in+1) {
		size *= 2
	}
	t.slot, t.shift = make([]uint64, size), uint8(64-bits.TrailingZeros(uint(size)))
	mask := uint64(len(t.slot) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := s >> t.shift
		for t.slot[i] != 0 {
			i = (i + 1) & mask
		}
		t.slot[i] = s
	}
}

// mix scrambles 64 bits (one multiplication, folded); the join and the key table use it.
func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

// settle frees the index from bytes to ids, a third of the memory of short texts, since a history seldom needs it.
// Intern makes it again if necessary.
func (t *Texts) settle() { t.hash, t.slot, t.in = nil, nil, 0 }

// ready computes the texts' hashes unless they exist.
func (t *Texts) ready() {
	for id := len(t.hash); id < t.Len(); id++ {
		t.hash = append(t.hash, t.hashOf(t.raw(uint32(id))))
	}
}

// spread maps a value to a number; different values rarely get the same, but the bits are not well mixed. ready must
// have been called. It is small enough to be inlined.
func (t *Texts) spread(n int64, k ValueKind) uint64 {
	if k == String || k == Row {
		n = int64(t.hash[n])
	}
	return spreadPlain(n, k)
}

// spreadPlain is spread for values without text.
func spreadPlain(n int64, k ValueKind) uint64 { return uint64(n)*0x9e3779b97f4a7c15 + uint64(k)<<56 }

// Keyed returns a hash of a value that depends on a key. It is the same in tables that number the value's text
// differently.
func (t *Texts) Keyed(k *keyed.Key, v Value) uint64 {
	n := uint64(v.N)
	switch v.Kind {
	case Null:
		return keyed.Null
	case String, Row:
		n = k.Text(t.Text(uint32(v.N)))
	}
	return k.Number(uint8(v.Kind), n)
}

// AppendValue appends a value as JSON.
func (t *Texts) AppendValue(dst []byte, v Value) []byte {
	switch v.Kind {
	case Int:
		return strconv.AppendInt(dst, v.N, 10)
	case Bool:
		return strconv.AppendBool(dst, v.N != 0)
	case String:
		return appendJSONString(dst, t.Text(uint32(v.N)))
	case Row:
		return t.AppendText(dst, uint32(v.N))
	}
	return append(dst, "null"...)
}

const hexDigits = "0123456789abcdef"

// appendJSONString appends a JSON string. It escapes only what JSON requires, and leaves UTF-8 as it is.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// AppendJSONString appends s as a JSON string.
func AppendJSONString(dst []byte, s string) []byte { return appendJSONString(dst, []byte(s)) }
