// Package keyed hashes the values of an endless stream, whose texts do not fit in memory. If hashes decide a verdict,
// two values with one hash could hide a violation. So the hashes depend on a secret key, which each run draws and
// checkpoints contain. Equal values have equal hashes. Two different values have the same hash with a probability of
// about 2⁻⁶⁴, whatever they are, if the person who chooses them does not learn hashes:
//
//   - Two numbers of one kind never have the same hash, since the map is one to one. Two of different kinds have
//     it if the secret numbers of their kinds happen to differ in the same bits.
//   - A text or list is hashed in steps. A step combines the hash so far and the next value with a secret number each,
//     multiplies them to 128 bits, and combines the halves. That is the step of wyhash (Wang Yi 2019), with its secret
//     drawn at random. After n steps the probability is n times that of one step.
//
// hash/maphash cannot be used, since its seeds cannot be saved. docs/design/006 lists the other hashes that stand for
// values.
package keyed

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Key is the secret on which the hashes depend. It is plain data, so that checkpoints can contain it.
type Key struct {
	kinds [8]uint64
	text  uint64
	empty uint64
	fold  [2]uint64
}

// Size is the number of bytes of a key.
const Size = 16

// Draw returns a random key.
func Draw() *Key {
	var seed [Size]byte
	rand.Read(seed[:]) // which does not fail
	return Of(seed)
}

// Of returns the key that follows from some bytes.
func Of(seed [Size]byte) *Key {
	k, n := &Key{}, byte(0)
	for i := range k.kinds {
		k.kinds[i] = expand(seed, &n)
	}
	k.text, k.empty = expand(seed, &n), expand(seed, &n)
	k.fold = [2]uint64{expand(seed, &n), expand(seed, &n)}
	return k
}

// expand returns the next number that a seed gives.
func expand(seed [Size]byte, n *byte) uint64 {
	*n++
	sum := sha256.Sum256(append(seed[:], *n))
	return binary.LittleEndian.Uint64(sum[:])
}

// Null is the hash of null, None that of no value. No other value has either.
const (
	Null = 0
	None = ^uint64(0)
)

// Number returns the hash of a number of one of at most eight kinds.
func (k *Key) Number(kind uint8, n uint64) uint64 {
	if x := Scramble(n ^ k.kinds[kind&7]); x+1 > 1 {
		return x
	}
	return 1
}

// Text returns the hash of a text. It is no value's hash by itself.
func (k *Key) Text(text []byte) uint64 {
	le, n := binary.LittleEndian, len(text)
	state, rest := k.Fold(k.text, uint64(n)), uint64(0)
	switch { // of what is left the first bytes and the last, which may overlap
	case n >= 8:
		for left := text; len(left) > 8; left = left[8:] {
			state = k.Fold(state, le.Uint64(left))
		}
		rest = le.Uint64(text[n-8:])
	case n >= 4:
		rest = uint64(le.Uint32(text)) | uint64(le.Uint32(text[n-4:]))<<32
	case n > 0:
		rest = uint64(text[0]) | uint64(text[n/2])<<8 | uint64(text[n-1])<<16
	}
	return k.Fold(state, rest)
}

// Empty returns the hash with which Fold begins, such as that of an empty list.
func (k *Key) Empty() uint64 { return k.empty }

// Fold adds one more value to a hash.
func (k *Key) Fold(state, x uint64) uint64 {
	hi, lo := bits.Mul64(state^k.fold[0], x^k.fold[1])
	return hi ^ lo
}

// Scramble mixes the bits of a number one to one: it is the finalizer of MurmurHash3.
func Scramble(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
