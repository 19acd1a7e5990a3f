// Package collide makes values that had one hash by the functions that watch compared them by before its hashes had a
// key: for tests of hashes, and of verdicts that rest on them.
package collide

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
)

// Value is a value outside of any history.
type Value struct {
	Kind history.ValueKind
	N    int64
	Text string
}

// Int is a whole number, Bool a truth value, Text a text, Row a row, told as canonical JSON.
func Int(n int64) Value { return Value{Kind: history.Int, N: n} }

func Bool(b bool) Value {
	v := history.BoolValue(b)
	return Value{Kind: v.Kind, N: v.N}
}

func Text(s string) Value   { return Value{Kind: history.String, Text: s} }
func Row(text string) Value { return Value{Kind: history.Row, Text: text} }

// In is the value in a table of texts.
func (v Value) In(t *history.Texts) history.Value {
	if v.Kind == history.String || v.Kind == history.Row {
		return history.Value{Kind: v.Kind, N: int64(t.Intern([]byte(v.Text)))}
	}
	return history.Value{Kind: v.Kind, N: v.N}
}

// String is the value as JSON.
func (v Value) String() string {
	switch v.Kind {
	case history.Int:
		return strconv.FormatInt(v.N, 10)
	case history.Bool:
		return strconv.FormatBool(v.N != 0)
	case history.String:
		return string(history.AppendJSONString(nil, v.Text))
	}
	return v.Text
}

const (
	golden = 0x9e3779b97f4a7c15
	first  = 0xff51afd7ed558ccd
	second = 0xc4ceb9fe1a85ec53
	prime1 = 11400714785074694791 // of XXH64
	prime2 = 14029467366897019727
)

// inverse is the number that undoes a multiplication by an odd one (Newton's iteration).
func inverse(x uint64) uint64 {
	y := x
	for range 5 {
		y *= 2 - x*y
	}
	return y
}

// Old is the hash that values had: the kind was added to a product.
func Old(v Value) uint64 {
	if v.Kind == history.String || v.Kind == history.Row {
		return xxhash.Sum64String(v.Text) + uint64(v.Kind)
	}
	return uint64(v.N)*golden + uint64(v.Kind)
}

// withHash is the whole number that had a hash.
func withHash(hash uint64) Value { return Int(int64((hash - uint64(history.Int)) * inverse(golden))) }

// Pairs are pairs of values that had one hash.
func Pairs() (all [][2]Value) {
	for _, v := range []Value{Bool(true), Bool(false), Text("a"), Text(""), Text("héllo"), Row(`{"a":1}`),
		Row(`{"b":"x"}`)} {
		all = append(all, [2]Value{v, withHash(Old(v))})
	}
	a, b := Texts()
	return append(all, [2]Value{Text(a), Text(b)}, [2]Value{Row(`{"` + a + `":1}`), withHash(Old(Row(`{"` + a + `":1}`)))})
}

// Texts are two texts of 64 letters and digits that xxhash takes for one: they differ in eight bytes, and in those
// behind which are added to what became of the eight.
func Texts() (string, string) {
	const plain = "abcdefghijklmnopqrstuvwxyz012345abcdefghijklmnopqrstuvwxyz012345"
	rng := rand.New(rand.NewPCG(1, 2))
	lane := func(acc, in uint64) uint64 { return bits.RotateLeft64(acc+in*prime2, 31) * prime1 }
	word := func(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
	start := uint64(prime1)
	start += prime2
	for {
		text := []byte(plain)
		for i := range 8 {
			text[i] = 'a' + byte(rng.IntN(26))
		}
		by := lane(start, word([]byte(plain))) - lane(start, word(text))
		binary.LittleEndian.PutUint64(text[32:], word([]byte(plain)[32:])+by*inverse(prime2))
		if letters(text[32:40]) && string(text) != plain {
			return plain, string(text)
		}
	}
}

func letters(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// OldList is the hash that lists had, of which a sum lost its last bit.
func OldList(vs []Value) uint64 {
	state := uint64(golden)
	for _, v := range vs {
		state = oldFold(state, Old(v))
	}
	return state
}

func oldFold(state, elem uint64) uint64 {
	x := (state ^ elem) * first
	x ^= x >> 32
	x = (x + state<<7 | 1) * second
	return x ^ x>>29
}

// partner is the whole number that a list with one state took for another value behind it.
func partner(state uint64, v Value) Value {
	x := (state ^ Old(v)) * first
	x ^= x >> 32
	y := (x + state<<7 ^ 1) - state<<7
	y ^= y >> 32
	return withHash(y*inverse(first) ^ state)
}

// Lists are pairs of lists that had one hash, and whose elements had not.
func Lists() (all [][2][]Value) {
	for _, before := range [][]Value{nil, {Int(1)}, {Int(5), Text("a"), Bool(true)}} {
		for _, v := range []Value{Int(1), Int(77), Text("b"), Bool(false)} {
			list := append(before[:len(before):len(before)], v)
			all = append(all, [2][]Value{list, append(before[:len(before):len(before)], partner(OldList(before), v))})
		}
	}
	return all
}
