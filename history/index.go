package history

import "isovet/internal/slice"

// Index maps the names of sessions or processes to numbers. Names are mostly small, and an array has their numbers.
type Index struct {
	small []uint32 // plus one
	large map[int64]uint32
}

const smallNames = 1 << 16

// Get returns the number of a name.
func (x *Index) Get(name int64) (n uint32, ok bool) {
	if uint64(name) < uint64(len(x.small)) {
		n = x.small[name]
		return n - 1, n > 0
	}
	n, ok = x.large[name]
	return n, ok
}

// Set sets the number of a name.
func (x *Index) Set(name int64, n uint32) {
	if uint64(name) >= smallNames {
		slice.MakeMap(&x.large)
		x.large[name] = n
		return
	}
	if size := int(name) + 1; size > len(x.small) {
		x.small = append(x.small, make([]uint32, size-len(x.small))...)
	}
	x.small[name] = n + 1
}

// Delete removes a name.
func (x *Index) Delete(name int64) {
	if uint64(name) < uint64(len(x.small)) {
		x.small[name] = 0
	}
	delete(x.large, name)
}

// NamedKeys interns keys that have texts as names. Most such names are a number, perhaps behind a letter; arrays have
// their keys, with at most 8 places for each key of the Builder and 4096 more. The zero value is empty; all calls must
// be for one Builder.
type NamedKeys struct {
	small ['z' + 1][]uint32 // by the letter, or 0, and the number: the key, plus one
	size  int               // of all arrays
}

// Key returns the key of a name. Cost: one look into an array, or that of Builder.Key.
func (x *NamedKeys) Key(b *Builder, name []byte) uint32 {
	digits, few := name, &x.small[0]
	if len(name) > 0 && name[0]-'A' <= 'z'-'A' {
		digits, few = name[1:], &x.small[name[0]]
	}
	n, plain := uint32(0), uint(len(digits)-1) < 8 && (digits[0] > '0' || len(digits) == 1)
	for i := 0; plain && i < len(digits); i++ {
		n, plain = 10*n+uint32(digits[i]-'0'), digits[i]-'0' <= 9
	}
	if plain && n < uint32(len(*few)) && (*few)[n] > 0 {
		return (*few)[n] - 1
	}
	key := b.Key(b.StringValue(name))
	if more := int(n+n/4) + 1 - len(*few); plain && int(n) >= len(*few) && x.size+more <= 8*len(b.keys)+4096 {
		*few = append(*few, make([]uint32, more)...)
		x.size += more
	}
	if plain && int(n) < len(*few) {
		(*few)[n] = key + 1
	}
	return key
}
