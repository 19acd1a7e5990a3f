package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"isovet/history"
)

// A chunk has the operations on the keys of one partition, of transactions that are adjacent in the order. Its bytes:
//
//	number of keys, and each key: its kind, then a number (zigzag) or a length and a text
//	for each transaction, a byte with the sizes of two numbers, and these: its time less that of the one before
//	  (zigzag) and its place less that of the one before (zigzag); in chunks of exceptions Sub and N less the
//	  place, in those of timestamps the facts about it there and its duration; then its operations:
//	    three bytes: kind of operation (3 bits), kind of value (3 bits), "the last one of its transaction" (1 bit),
//	      size of a number less one (3 bits), the key's number in the chunk (14 bits; all ones: it follows)
//	    the value: a number less the last number (zigzag), or a length and a text
//	some zeros, so that eight bytes can be read everywhere
//
// Keys, lengths of texts and the data of exceptions are variable-length numbers (encoding/binary). All other numbers
// have their size before them: they are read without branches that may be mispredicted. BlindW's operations take some 9
// bytes.

// Kind is the kind of an operation in a chunk.
type Kind uint8

const (
	Read    Kind = iota // a committed transaction's read of another's version
	Install             // a committed transaction's last write of a key
	// a write that others must not see: an intermediate one, or one of an aborted transaction
	Intermediate
	Aborted
	// a write of a transaction of unknown outcome that does not count as committed yet
	Maybe
	MaybeIntermediate
)

// These are facts about the transactions in chunks of timestamps.
const (
	standsByPlace = 1
	hasStart      = 2
)

const (
	lastBit    = 1 << 6
	kindMask   = 7
	valueShift = 3
	sizeShift  = 7
	keyShift   = 10
	opBytes    = 3
	manyKeys   = 1<<14 - 1
	padding    = 8
)

// bytesMask[i] keeps the lowest i+1 bytes of a number.
var bytesMask = [8]uint64{1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// sizeOf returns the bytes that a number takes, less one.
func sizeOf(x uint64) int { return (bits.Len64(x|1) - 1) >> 3 }

func zigzag(x int64) uint64   { return uint64(x)<<1 ^ uint64(x>>63) }
func unzigzag(x uint64) int64 { return int64(x>>1) ^ -int64(x&1) }

// ChunkInfo describes a chunk.
type ChunkInfo struct {
	Min, Max Pos
	Txns     int
	Ops      int
	Written  Written
}

// Written describes the values that a chunk's writes may have: their kinds, as bits, the range of integers, and the
// range of the lower half of their bits, because clients may have numbers of their own in the upper half. Known is
// false if nothing is known.
type Written struct {
	Known      bool
	Kinds      uint8
	Min, Max   int64
	Low, High  uint32
	Initialize bool // the initial transaction writes in it
}

func (w *Written) add(kind history.ValueKind, n int64) {
	w.Kinds |= 1 << kind
	if kind == history.Int {
		w.Min, w.Max = min(w.Min, n), max(w.Max, n)
		w.Low, w.High = min(w.Low, uint32(n)), max(w.High, uint32(n))
	}
}

// has reports whether a value may be among those written.
func (w *Written) has(kind history.ValueKind, n int64) bool {
	switch {
	case !w.Known || w.Initialize:
		return true
	case w.Kinds>>kind&1 == 0:
		return false
	}
	return kind != history.Int || w.Min <= n && n <= w.Max && w.Low <= uint32(n) && uint32(n) <= w.High
}

// chunkWriter writes one chunk after another.
type chunkWriter struct {
	keys   []byte
	nKeys  uint32
	body   []byte
	seq    uint32 // number of the chunk, from 1
	info   ChunkInfo
	pos    Pos
	place  uint64
	opAt   int // where the last operation's first byte is
	inTxn  bool
	lastN  int64
	moving bool
	// stamped says that chunks have the starts of transactions, and positions with N equal to the place or one more
	stamped bool
	start   int64
}

func (w *chunkWriter) size() int { return len(w.keys) + len(w.body) }

// begin begins a transaction's operations; transactions come in the order of pos.
func (w *chunkWriter) begin(pos Pos, place uint64) {
	w.endTxn()
	if w.info.Txns == 0 {
		w.info.Min = pos
		w.info.Written = Written{Known: true, Min: math.MaxInt64, Max: math.MinInt64, Low: math.MaxUint32}
	}
	if pos.T == First.T {
		w.info.Written.Initialize = true
	}
	w.info.Max = pos
	w.info.Txns++
	b, i := room(w.body)
	t, p := zigzag(pos.T-w.pos.T), zigzag(int64(place-w.place))
	nt, np := sizeOf(t), sizeOf(p)
	b[i] = byte(nt | np<<3)
	i++
	binary.LittleEndian.PutUint64(b[i:], t)
	i += nt + 1
	binary.LittleEndian.PutUint64(b[i:], p)
	i += np + 1
	if w.moving {
		i = putUvarint(b, i, zigzag(int64(pos.N-place)))
		i = putUvarint(b, i, uint64(pos.Sub))
	}
	if w.stamped { // facts by timestamps, and the duration
		what, took := byte(0), int64(0)
		if pos.N != 0 {
			what |= standsByPlace
		}
		if w.start != history.NoTime {
			what |= hasStart
			took = int64(uint64(pos.T) - uint64(w.start))
		}
		b[i] = what
		i = putUvarint(b, i+1, zigzag(took))
	}
	w.body = b[:i]
	w.pos, w.place = pos, place
	w.inTxn = true
}

// most bounds the bytes of the numbers of a transaction or operation.
const most = 48

// room makes room for some numbers after b, and returns where they begin.
func room(b []byte) ([]byte, int) {
	n := len(b)
	if cap(b)-n < most {
		b = slices.Grow(b, max(most, n))
	}
	return b[:n+most], n
}

// putUvarint writes a number at index i, as binary.PutUvarint does, and returns the index after it.
func putUvarint(b []byte, i int, x uint64) int {
	for x >= 0x80 {
		b[i] = byte(x) | 0x80
		x >>= 7
		i++
	}
	b[i] = byte(x)
	return i + 1
}

func (w *chunkWriter) endTxn() {
	if w.inTxn {
		w.body[w.opAt] |= lastBit
		w.inTxn = false
	}
}

func (w *chunkWriter) key(kind history.ValueKind, n int64, text []byte) uint32 {
	w.keys = append(w.keys, byte(kind))
	if kind == history.Int {
		w.keys = binary.AppendVarint(w.keys, n)
	} else {
		w.keys = binary.AppendUvarint(w.keys, uint64(len(text)))
		w.keys = append(w.keys, text...)
	}
	w.nKeys++
	return w.nKeys - 1
}

func (w *chunkWriter) op(kind Kind, key uint32, v history.ValueKind, n int64, text []byte) {
	b, i := room(w.body)
	w.opAt = i
	w.info.Ops++
	if kind != Read {
		w.info.Written.add(v, n)
	}
	head := uint32(kind) | uint32(v)<<valueShift | min(key, manyKeys)<<keyShift
	at := i
	i += opBytes
	if key >= manyKeys {
		i = putUvarint(b, i, uint64(key))
	}
	switch v {
	case history.Int, history.Bool:
		x := zigzag(n - w.lastN)
		w.lastN = n
		size := sizeOf(x)
		head |= uint32(size) << sizeShift
		binary.LittleEndian.PutUint64(b[i:], x)
		i += size + 1
	case history.String, history.Row:
		i = putUvarint(b, i, uint64(len(text)))
	}
	b[at], b[at+1], b[at+2] = byte(head), byte(head>>8), byte(head>>16)
	w.body = append(b[:i], text...)
}

// take appends the chunk to out and begins the next one.
func (w *chunkWriter) take(out []byte) ([]byte, ChunkInfo) {
	w.endTxn()
	out = binary.AppendUvarint(out, uint64(w.nKeys))
	out = append(out, w.keys...)
	out = append(out, w.body...)
	out = append(out, make([]byte, padding)...)
	info := w.info
	*w = chunkWriter{keys: w.keys[:0], body: w.body[:0], seq: w.seq + 1, moving: w.moving, stamped: w.stamped}
	return out, info
}

// Damaged is the error of a damaged chunk.
type Damaged struct{ What string }

func (d *Damaged) Error() string { return "a damaged chunk: " + d.What }

type cursor struct {
	b      []byte
	i      int // index of the next byte in b
	moving bool
	// stamped says that the chunk has the starts of transactions
	stamped bool
	start   int64
	round   int
	whole   []byte
	none    bool     // none of its keys is wanted
	keys    []uint32 // number of a key in the chunk → in the table
	// the current transaction
	pos   Pos
	place uint64
	ended bool
	lastN int64

	// the last operation
	kind  Kind
	vkind history.ValueKind
	key   uint32
	n     int64
	text  []byte
	last  bool
}

// uvarint reads a number. The checksums were verified before, so only a forged file can have a wrong one.
func (c *cursor) uvarint() uint64 {
	b, i := c.b, c.i
	if i < len(b) && b[i] < 0x80 {
		c.i = i + 1
		return uint64(b[i])
	}
	if i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		if end := ^x & 0x8080808080808080; end != 0 {
			c.i = i + bits.TrailingZeros64(end)>>3 + 1
			x &= end ^ (end - 1) // the bits up to the last byte of the number
			// seven bits of each byte, put together
			x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
			x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
			return x&0x0fffffff | x&0x0fffffff00000000>>4
		}
	}
	x, n := binary.Uvarint(b[i:])
	if n <= 0 {
		panic(&Damaged{"a number is cut off"})
	}
	c.i = i + n
	return x
}

func (c *cursor) varint() int64 {
	x := c.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (c *cursor) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.b)-c.i) {
		panic(&Damaged{"a text is cut off"})
	}
	t := c.b[c.i : c.i+int(n)]
	c.i += int(n)
	return t
}

// open reads the keys, numbers them with number, and goes to the first transaction.
func (c *cursor) open(chunk []byte, number func(kind history.ValueKind, n int64, text []byte) uint32) {
	c.b, c.i = chunk, 0
	n := c.uvarint()
	if n > uint64(len(chunk)) {
		panic(&Damaged{fmt.Sprintf("%d keys", n)})
	}
	c.keys, c.none = c.keys[:0], true
	for range n {
		if c.i >= len(c.b) {
			panic(&Damaged{"the keys are cut off"})
		}
		kind := history.ValueKind(c.b[c.i])
		if kind > history.Row {
			panic(&Damaged{fmt.Sprintf("a key of kind %d", kind)})
		}
		c.i++
		k := noKey
		if kind == history.Int {
			k = number(kind, c.varint(), nil)
		} else {
			k = number(kind, 0, c.bytes())
		}
		c.none = c.none && k == noKey
		c.keys = append(c.keys, k)
	}
	c.pos, c.place, c.lastN, c.ended = Pos{}, 0, 0, false
	c.nextTxn()
}

// nextTxn goes to the next transaction.
func (c *cursor) nextTxn() {
	b, i := c.b, c.i
	if i+padding >= len(b) {
		c.ended = true
		return
	}
	sizes := b[i]
	i++
	x, i := number(b, i, sizes&7)
	c.pos.T += unzigzag(x)
	x, i = number(b, i, sizes>>3&7)
	c.place += uint64(unzigzag(x))
	c.pos.N = c.place
	c.i = i
	if c.moving {
		c.pos.N += uint64(c.varint())
		c.pos.Sub = uint32(c.uvarint())
	}
	if c.stamped {
		what := c.uvarint()
		if c.pos.N++; what&standsByPlace == 0 {
			c.pos.N = 0
		}
		c.start = int64(uint64(c.pos.T) - uint64(c.varint()))
		if what&hasStart == 0 {
			c.start = history.NoTime
		}
	}
}

// number reads a number of size+1 bytes, and returns the index after it.
func number(b []byte, i int, size byte) (uint64, int) {
	if uint(i)+8 > uint(len(b)) {
		panic(&Damaged{"a number is cut off"})
	}
	return binary.LittleEndian.Uint64(b[i:]) & bytesMask[size&7], i + int(size&7) + 1
}

// nextOp reads the next operation of the transaction.
func (c *cursor) nextOp() {
	b, i := c.b, c.i
	if uint(i)+opBytes > uint(len(b)) {
		panic(&Damaged{"a transaction is cut off"})
	}
	head := uint32(b[i]) | uint32(b[i+1])<<8 | uint32(b[i+2])<<16
	i += opBytes
	c.kind = Kind(head & kindMask)
	c.vkind = history.ValueKind(head >> valueShift & 7)
	c.last = head&lastBit != 0
	k := uint64(head >> keyShift)
	if k == manyKeys {
		c.i = i
		k = c.uvarint()
		i = c.i
	}
	if k >= uint64(len(c.keys)) {
		panic(&Damaged{"an operation has a key that is not listed"})
	}
	c.key = c.keys[k]
	c.text = nil
	switch c.vkind {
	case history.Int, history.Bool:
		var x uint64
		x, c.i = number(b, i, byte(head>>sizeShift&7))
		c.lastN += unzigzag(x)
		c.n = c.lastN
	case history.String, history.Row:
		c.i = i
		c.n, c.text = 0, c.bytes()
	default:
		c.n, c.i = 0, i
	}
}
