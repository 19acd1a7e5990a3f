package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/delta"
)

// Bounds on a file's claims. The library allocates what a file claims, so each claim is first checked against what the
// file can hold.
const (
	// The same bounds as for compressed files (package format): no history grows by a larger factor.
	maxGrowth  = 250
	freeGrowth = 64 << 20
	// maxOpen bounds the decoded bytes of the current pages of all columns together.
	maxOpen = 1 << 30
	// maxElements bounds the structures in a file's description: row groups, columns of row groups and the like.
	maxElements = 1 << 22
	maxNesting  = 32
)

// growth bounds the decompressed size of n bytes.
func growth(n int64) int64 { return freeGrowth + maxGrowth*n }

// measure walks over one structure in Thrift's compact encoding (thrift-compact-protocol.md of Apache Thrift), with any
// fields, and returns its length. It returns an error if the structure ends too early or lists more than a description
// may. Cost: one pass; no memory.
func measure(b []byte) (int, error) {
	w := walker{b: b, elements: maxElements}
	if !w.structure(0) {
		return 0, errors.New("its description is cut off or damaged")
	}
	return w.i, nil
}

type walker struct {
	b        []byte
	i        int
	elements int
}

func (w *walker) uvarint() (uint64, bool) {
	v, n := binary.Uvarint(w.b[w.i:])
	w.i += max(n, 0)
	return v, n > 0
}

func (w *walker) skip(n uint64) bool {
	if n > uint64(len(w.b)-w.i) {
		return false
	}
	w.i += int(n)
	return true
}

func (w *walker) structure(depth int) bool {
	if depth > maxNesting {
		return false
	}
	for w.i < len(w.b) {
		head := w.b[w.i]
		w.i++
		if head == 0 {
			return true
		}
		if head>>4 == 0 {
			if _, ok := w.uvarint(); !ok { // the field's number
				return false
			}
		}
		if kind := head & 15; kind > 2 && !w.value(kind, depth) { // a boolean has its value in the head
			return false
		}
	}
	return false
}

// value walks over a value of one of Thrift's types.
func (w *walker) value(kind byte, depth int) bool {
	switch kind {
	case 1, 2, 3: // a boolean in a list, a byte
		return w.skip(1)
	case 4, 5, 6: // integers
		_, ok := w.uvarint()
		return ok
	case 7: // floating-point
		return w.skip(8)
	case 8: // text
		n, ok := w.uvarint()
		return ok && w.skip(n)
	case 9, 10: // list, set
		if w.i == len(w.b) {
			return false
		}
		head := w.b[w.i]
		w.i++
		n := uint64(head >> 4)
		if n == 15 {
			var ok bool
			if n, ok = w.uvarint(); !ok {
				return false
			}
		}
		if n > uint64(len(w.b)-w.i) {
			return false
		}
		if kind := head & 15; kind == 12 {
			if w.elements -= int(n); w.elements < 0 {
				return false
			}
		}
		for range n {
			if !w.value(head&15, depth+1) {
				return false
			}
		}
		return true
	case 12:
		return w.structure(depth + 1)
	}
	return false // a map: no description has one
}

// runs returns the length of the part of src that holds its first n values, in the hybrid of runs and packed bits of
// levels and dictionary numbers. It returns an error if there are fewer values, or a run is too long.
func runs(src []byte, width uint, n int) (int, error) {
	i := 0
	for n > 0 {
		head, k := binary.Uvarint(src[i:])
		if k <= 0 {
			return 0, fmt.Errorf("%d values are missing", n)
		}
		i += k
		count := head >> 1
		if head&1 == 0 {
			size := int(width+7) / 8
			if count > uint64(n) || size > len(src)-i {
				return 0, fmt.Errorf("a run of %d values; expected at most %d", count, n)
			}
			i += size
			n -= int(count)
			continue
		}
		over, size := bits.Mul64(count, uint64(width)) // count is of groups of eight
		if over != 0 || size > uint64(len(src)-i) {
			return 0, errors.New("a group of packed values is cut off")
		}
		i += int(size)
		n -= int(min(8*count, uint64(n)))
	}
	return i, nil
}

// deltas checks that src begins with n numbers that are encoded by their differences, and returns their length in
// bytes.
func deltas(src []byte, n int) (size int, err error) {
	var head [3]uint64 // numbers in a block, its parts, numbers in all
	for i := range head {
		v, k := binary.Uvarint(src[size:])
		if k <= 0 {
			return 0, errors.New("the header of packed numbers is cut off")
		}
		head[i] = v
		size += k
	}
	_, k := binary.Uvarint(src[size:]) // the first one
	if k <= 0 {
		return 0, errors.New("the header of packed numbers is cut off")
	}
	size += k
	block, parts := head[0], head[1]
	switch {
	case head[2] != uint64(n):
		return 0, fmt.Errorf("%d values; expected %d", head[2], n)
	case block == 0 || block > 1<<16 || parts == 0 || parts > block || block%parts != 0 || block/parts%8 != 0:
		return 0, fmt.Errorf("a block of %d values in %d parts; expected parts of a multiple of 8 values", block, parts)
	}
	for left := uint64(max(n, 1) - 1); left > 0; {
		_, k := binary.Uvarint(src[size:]) // the least difference
		if size += k; k <= 0 || uint64(len(src)-size) < parts {
			return 0, fmt.Errorf("%d values are missing", left)
		}
		widths := src[size : size+int(parts)]
		size += int(parts)
		for _, width := range widths {
			if left == 0 {
				break
			}
			if width > 64 {
				return 0, fmt.Errorf("differences of %d bits", width)
			}
			// Some writers leave out the padding behind the last value.
			size = min(len(src), size+int(block/parts/8)*int(width))
			left -= min(left, block/parts)
		}
	}
	return size, nil
}

// frontCoded checks n front-coded texts, each of which shares a prefix with the one before: their number, and their
// total length once decoded.
func frontCoded(src []byte, n int) error {
	size, err := deltas(src, n)
	if err != nil {
		return err
	}
	if _, err := deltas(src[size:], n); err != nil {
		return err
	}
	prefix, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, src[:size])
	if err != nil {
		return err
	}
	total := int64(len(src))
	for _, p := range prefix {
		if p < 0 {
			return fmt.Errorf("a length of %d", p)
		}
		total += int64(p)
	}
	if total > min(growth(int64(len(src))), math.MaxUint32/2) {
		return fmt.Errorf("texts of %d bytes in a page of %d; expected fewer", total, len(src))
	}
	return nil
}
