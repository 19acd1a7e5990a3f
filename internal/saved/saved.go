// Package saved reads back what was saved of a judge's keys and sessions as bytes: numbers one behind the other.
// Damaged bytes are told, and no count is greater than what they can have. And it makes arrays shorter in which there
// were more of them.
package saved

import "encoding/binary"

// Reader reads numbers from the beginning of B. Bad says that it was something else; what it gives then is zero.
type Reader struct {
	B   []byte
	Bad bool
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.B) == 0 {
		r.Bad = true
		return 0
	}
	c := r.B[0]
	r.B = r.B[1:]
	return c
}

// Word reads eight bytes, the lowest first.
func (r *Reader) Word() uint64 {
	if len(r.B) < 8 {
		r.Bad = true
		return 0
	}
	x := binary.LittleEndian.Uint64(r.B)
	r.B = r.B[8:]
	return x
}

// Int reads a number as [binary.AppendVarint] writes it.
func (r *Reader) Int() int64 {
	x, n := binary.Varint(r.B)
	r.skip(n)
	if r.Bad {
		return 0
	}
	return x
}

// Uint reads a number as [binary.AppendUvarint] writes it.
func (r *Reader) Uint() uint64 {
	x, n := binary.Uvarint(r.B)
	r.skip(n)
	if r.Bad {
		return 0
	}
	return x
}

// Count reads how many things follow, each of at least a byte.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.B)) {
		r.Bad = true
		return 0
	}
	return int(n)
}

func (r *Reader) skip(n int) {
	if n <= 0 {
		r.Bad = true
		return
	}
	r.B = r.B[n:]
}

// Shorter is the first n of a slice, in an array of their own where the one that they had was more than twice as long.
func Shorter[T any](s []T, n int) []T {
	if n >= len(s) {
		return s
	}
	if s = s[:n]; 2*n < cap(s) {
		s = append(make([]T, 0, n), s...)
	}
	return s
}

// Spare is a slice that is used again, for n elements or more, empty; none where it has room for far more.
func Spare[T any](s []T, n int) []T {
	if cap(s) > 8*n+1<<17 {
		return nil
	}
	return s[:0]
}
