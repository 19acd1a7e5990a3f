// Package saved has the saved states of a judge's keys and sessions: bytes with one number after the other. Reading
// detects damaged bytes, and returns no count larger than the remaining bytes allow. The package also shortens arrays
// that are too long.
package saved

import "encoding/binary"

// Reader reads numbers from the beginning of B. Bad says that B is damaged; numbers are then zero.
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

// Int reads a number written by [binary.AppendVarint].
func (r *Reader) Int() int64 {
	x, n := binary.Varint(r.B)
	return number(r, x, n)
}

// Uint reads a number written by [binary.AppendUvarint].
func (r *Reader) Uint() uint64 {
	x, n := binary.Uvarint(r.B)
	return number(r, x, n)
}

// number skips the n bytes of x.
func number[T int64 | uint64](r *Reader, x T, n int) T {
	if r.Bad = r.Bad || n <= 0; r.Bad {
		return 0
	}
	r.B = r.B[n:]
	return x
}

// Ints reads several numbers as Int does.
func (r *Reader) Ints(to ...*int64) {
	for _, x := range to {
		*x = r.Int()
	}
}

// AppendInts appends numbers for [Reader.Ints].
func AppendInts(b []byte, xs ...int64) []byte {
	for _, x := range xs {
		b = binary.AppendVarint(b, x)
	}
	return b
}

// Bits returns a byte with bit i set if the i-th of these facts holds.
func Bits(facts ...bool) (b byte) {
	for i, is := range facts {
		if is {
			b |= 1 << i
		}
	}
	return b
}

// Count reads the number of the following things, each of which takes at least one byte.
func (r *Reader) Count() int {
	n := r.Uint()
	if n > uint64(len(r.B)) {
		r.Bad = true
		return 0
	}
	return int(n)
}

// Shorter returns the first n elements of a slice. If its array is more than twice as long, it copies them to a new
// array.
func Shorter[T any](s []T, n int) []T {
	if n >= len(s) {
		return s
	}
	if s = s[:n]; 2*n < cap(s) {
		s = append(make([]T, 0, n), s...)
	}
	return s
}

// Spare returns the empty slice s for reuse with at least n elements, or a new one if s has far more space.
func Spare[T any](s []T, n int) []T {
	if cap(s) > 8*n+1<<17 {
		return nil
	}
	return s[:0]
}

// Drop removes the first elements of a slice, up to head, if they are more than least and than half of it. It returns
// how many it removed.
func Drop[T any](all *[]T, head *int, least int) (n int) {
	if *head > least && 2**head > len(*all) {
		n, *all, *head = *head, (*all)[:copy(*all, (*all)[*head:])], 0
	}
	return n
}
