package keystore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"os"
)

// recent is what was put last, packed into one piece of memory: a key takes its bytes and some 20 more there, where
// its owner needs several hundred, and is found in a fraction of a microsecond, where the disk takes tens of them. What
// was put first leaves it first, and only then goes to the disk, if it has not been put again meanwhile.
//
// Invariant: from tail to head, around the end, lie entries, one behind the other: a hash, the lengths of key and
// value, both. index has those that are not outdated: the place + 1 of one, by its hash, in a probe sequence that has
// no 0 before it, and 32 bits of the hash above.
type recent struct {
	ring       []byte
	head, tail int
	wrap       int // where the entries end before they go on at 0; 0: they do not
	index      []uint64
	n          int // in index
	entries    int
}

// entryHead is a hash, and two lengths.
const entryHead = 8 + 4 + 4

// newRecent takes about so many bytes.
func newRecent(size int64) *recent {
	size = min(max(size, 1<<14), 1<<30)
	slots := 1 << (bits.Len64(uint64(size)/64) - 1) // of 8 bytes, two: a quarter of the ring
	return &recent{ring: make([]byte, size), index: make([]uint64, 2*slots)}
}

func slot(sum uint64, at int) uint64 { return sum>>32<<32 | uint64(at+1) }

// find returns the slot of a key, and where its entry is.
func (r *recent) find(key []byte, sum uint64) (i uint64, at int, ok bool) {
	mask := uint64(len(r.index) - 1)
	for i = sum & mask; r.index[i] != 0; i = (i + 1) & mask {
		if x := r.index[i]; x>>32 == sum>>32 {
			if at = int(uint32(x)) - 1; bytes.Equal(r.key(at), key) {
				return i, at, true
			}
		}
	}
	return i, 0, false
}

func (r *recent) sum(at int) uint64 { return binary.LittleEndian.Uint64(r.ring[at:]) }

func (r *recent) key(at int) []byte {
	lo := at + entryHead
	return r.ring[lo : lo+int(binary.LittleEndian.Uint32(r.ring[at+8:]))]
}

func (r *recent) val(at int) []byte {
	lo := at + entryHead + int(binary.LittleEndian.Uint32(r.ring[at+8:]))
	return r.ring[lo : lo+int(binary.LittleEndian.Uint32(r.ring[at+12:]))]
}

// get returns what a key has, until the next put; false: it is not here.
func (r *recent) get(key []byte, sum uint64) ([]byte, bool) {
	_, at, ok := r.find(key, sum)
	if !ok {
		return nil, false
	}
	return r.val(at), true
}

// fits reports whether a value is one for put.
func (r *recent) fits(key, val []byte) bool { return entryHead+len(key)+len(val) <= len(r.ring)/8 }

// put takes a value. out is called with those that leave.
func (r *recent) put(key, val []byte, sum uint64, out func(key, val []byte) error) error {
	r.drop(key, sum)
	n := entryHead + len(key) + len(val)
	for !r.room(n) || 4*r.n >= 3*len(r.index) {
		if err := r.leave(out); err != nil {
			return err
		}
	}
	if r.head+n > len(r.ring) {
		r.wrap, r.head = r.head, 0
	}
	at := r.head
	b := r.ring[at:]
	binary.LittleEndian.PutUint64(b, sum)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(key)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(val)))
	copy(b[entryHead:], key)
	copy(b[entryHead+len(key):], val)
	r.head += n
	r.entries++
	i, _, _ := r.find(key, sum)
	r.index[i] = slot(sum, at)
	r.n++
	return nil
}

// room reports whether so many bytes can be written at head, or at 0.
func (r *recent) room(n int) bool {
	switch {
	case r.entries == 0:
		r.head, r.tail, r.wrap = 0, 0, 0
		return true
	case r.wrap > 0: // the entries go around the end
		return r.head+n <= r.tail
	}
	return r.head+n <= len(r.ring) || n <= r.tail
}

// leave takes the first entry out.
func (r *recent) leave(out func(key, val []byte) error) error {
	at := r.tail
	key, val := r.key(at), r.val(at)
	if i, now, ok := r.find(key, r.sum(at)); ok && now == at {
		if err := out(key, val); err != nil {
			return err
		}
		r.remove(i)
	}
	r.next()
	return nil
}

// next moves the tail on.
func (r *recent) next() {
	r.tail += entryHead + len(r.key(r.tail)) + len(r.val(r.tail))
	r.entries--
	if r.wrap > 0 && r.tail == r.wrap {
		r.tail, r.wrap = 0, 0
	}
}

// drop forgets a key.
func (r *recent) drop(key []byte, sum uint64) {
	if i, _, ok := r.find(key, sum); ok {
		r.remove(i)
	}
}

// remove empties a slot (Knuth, TAOCP 6.4, Algorithm R).
func (r *recent) remove(i uint64) {
	mask := uint64(len(r.index) - 1)
	for j := i; ; {
		j = (j + 1) & mask
		if r.index[j] == 0 {
			break
		}
		home := r.sum(int(uint32(r.index[j]))-1) & mask
		if (j-home)&mask >= (j-i)&mask {
			r.index[i] = r.index[j]
			i = j
		}
	}
	r.index[i] = 0
	r.n--
}

// each calls f with what is here, the first that was put first.
func (r *recent) each(f func(key, val []byte) error) error {
	at, wrap := r.tail, r.wrap
	for range r.entries {
		if wrap > 0 && at == wrap {
			at = 0
		}
		key, val := r.key(at), r.val(at)
		if _, now, ok := r.find(key, r.sum(at)); ok && now == at {
			if err := f(key, val); err != nil {
				return err
			}
		}
		at += entryHead + len(key) + len(val)
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// save writes what is here to a file: lengths and bytes of keys and values, and a checksum.
func (r *recent) save(path string) error {
	return writeFile(path, func(w io.Writer) error {
		sum := crc32.New(castagnoli)
		var b []byte
		flush := func() error {
			_, err := w.Write(b)
			sum.Write(b)
			b = b[:0]
			return err
		}
		err := r.each(func(key, val []byte) error {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(len(key))), uint64(len(val)))
			b = append(append(b, key...), val...)
			if len(b) < 1<<16 {
				return nil
			}
			return flush()
		})
		if err == nil {
			err = flush()
		}
		if err == nil {
			_, err = w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
		}
		return err
	})
}

// writeFile makes a file.
func writeFile(path string, write func(w io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// readRecent calls put with what a file has; without a file there is nothing.
func readRecent(path string, put func(key, val []byte) error) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n := len(b) - 4
	if n < 0 || crc32.Checksum(b[:n], castagnoli) != binary.LittleEndian.Uint32(b[n:]) {
		return fmt.Errorf("%s: the checksum differs: %w", path, ErrDamaged)
	}
	b = b[:n]
	length := func() int {
		x, k := binary.Uvarint(b)
		if k <= 0 || x > math.MaxInt32 {
			return -1
		}
		b = b[k:]
		return int(x)
	}
	for len(b) > 0 {
		k, v := length(), length()
		if k < 0 || v < 0 || k+v > len(b) {
			return fmt.Errorf("%s: a length is wrong: %w", path, ErrDamaged)
		}
		if err := put(b[:k], b[k:k+v]); err != nil {
			return err
		}
		b = b[k+v:]
	}
	return nil
}
