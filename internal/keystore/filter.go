package keystore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
)

// filter recognises most keys that are not in the store: a Bloom filter in blocks of a cache line (Putze, Sanders,
// Singler, WEA 2007). It does not grow. When it is full, every key is looked up.
type filter struct {
	words []uint64 // blocks of 8
}

// newFilter makes a filter of about size bytes.
func newFilter(size int64) *filter {
	n := max(1<<10, size/8)
	return &filter{words: make([]uint64, 1<<(bits.Len64(uint64(n))-1))}
}

// probes is the number of bits that a key sets in its block.
const probes = 4

func (f *filter) block(sum uint64) []uint64 {
	b := (sum >> 40 * 8) & uint64(len(f.words)-1)
	if len(f.words) > 1<<27 {
		b = (sum >> 32 * 8) & uint64(len(f.words)-1)
	}
	return f.words[b : b+8]
}

func (f *filter) add(sum uint64) {
	b := f.block(sum)
	for range probes {
		b[sum>>6&7] |= 1 << (sum & 63)
		sum >>= 9
	}
}

// may reports whether a key may have been added.
func (f *filter) may(sum uint64) bool {
	b := f.block(sum)
	for range probes {
		if b[sum>>6&7]&(1<<(sum&63)) == 0 {
			return false
		}
		sum >>= 9
	}
	return true
}

func (f *filter) save(path string) error {
	b := make([]byte, 0, 8*len(f.words))
	for _, w := range f.words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return os.WriteFile(path, b, 0o600)
}

// loadFilter reads a filter. If there is no file, it returns one that accepts every key.
func loadFilter(path string) (*filter, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		f := newFilter(0)
		for i := range f.words {
			f.words[i] = ^uint64(0)
		}
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	n := len(b) / 8
	if len(b)%64 != 0 || n == 0 || n&(n-1) != 0 {
		return nil, fmt.Errorf("%s: %d bytes; expected a power of two, 64 or more", path, len(b))
	}
	f := &filter{words: make([]uint64, n)}
	for i := range f.words {
		f.words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return f, nil
}
