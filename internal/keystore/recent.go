package keystore

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// recent is what was put last, packed into one piece of memory: a key takes its bytes and some 20 more there, where
// its owner needs several hundred, and is found in a fraction of a microsecond, where the disk takes tens of them. What
// was put first leaves it first, a part of all at a time (batch), and only then goes to the disk, if it has not been
// put again meanwhile.
//
// One goroutine at a time, but that others may read the bytes of entries that are there, but for the byte at outdated,
// until they are let go (retire).
//
// Invariant: from tail to head, around the end, lie entries, one behind the other: the lengths of key and value, two
// bytes that say whether it counts, key and value. index has those that count: the place + 1 of one, by its hash, in a
// probe sequence that has no 0 before it, and 32 bits of the hash above.
type recent struct {
	ring []byte
	span
	index []uint64
	n     int // in index
	live  int // bytes of entries that count
}

// span is a part of the ring.
type span struct {
	head, tail int
	wrap       int // where the entries end before they go on at 0; 0: they do not
	entries    int
}

// Of an entry: where its parts are. A byte that is not 0 says of outdated that the key was put again, of gone that it
// was taken out; nobody else reads when gone is set.
const (
	entryVal      = 0 // 4 bytes
	entryKey      = 4 // 2
	entryOutdated = 6
	entryGone     = 7
	entryHead     = 8
)

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

func (r *recent) lengths(at int) (key, val int) {
	b := r.ring[at : at+entryHead]
	return int(binary.LittleEndian.Uint16(b[entryKey:])), int(binary.LittleEndian.Uint32(b[entryVal:]))
}

// size is what an entry takes.
func (r *recent) size(at int) int {
	k, v := r.lengths(at)
	return entryHead + k + v
}

func (r *recent) key(at int) []byte {
	k, _ := r.lengths(at)
	return r.ring[at+entryHead:][:k:k]
}

func (r *recent) val(at int) []byte {
	k, v := r.lengths(at)
	return r.ring[at+entryHead+k:][:v:v]
}

// counts reports whether an entry is the latest of its key.
func (r *recent) counts(at int) bool { return r.ring[at+entryOutdated]|r.ring[at+entryGone] == 0 }

// get returns what a key has, until the next put; false: it is not here.
func (r *recent) get(key []byte, sum uint64) ([]byte, bool) {
	_, at, ok := r.find(key, sum)
	if !ok {
		return nil, false
	}
	return r.val(at), true
}

// fits reports whether a value is one for put.
func (r *recent) fits(key, val []byte) bool {
	return len(key) < 1<<16 && entryHead+len(key)+len(val) <= len(r.ring)/8
}

// put takes a value; false: there is no room.
func (r *recent) put(key, val []byte, sum uint64) bool {
	n := entryHead + len(key) + len(val)
	if !r.room(n) || 4*r.n >= 3*len(r.index) {
		return false
	}
	if r.head+n > len(r.ring) {
		r.wrap, r.head = r.head, 0
	}
	at := r.head
	b := r.ring[at:]
	binary.LittleEndian.PutUint32(b[entryVal:], uint32(len(val)))
	binary.LittleEndian.PutUint16(b[entryKey:], uint16(len(key)))
	b[entryOutdated], b[entryGone] = 0, 0
	copy(b[entryHead:], key)
	copy(b[entryHead+len(key):], val)
	r.head += n
	r.entries++
	i, was, ok := r.find(key, sum)
	if ok {
		r.ring[was+entryOutdated] = 1
		r.live -= r.size(was)
	} else {
		r.n++
	}
	r.live += n
	r.index[i] = slot(sum, at)
	return true
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

// used is how much of the ring is taken.
func (r *recent) used() int {
	if r.wrap > 0 {
		return len(r.ring) - r.tail + r.head
	}
	return r.head - r.tail
}

// crowded reports whether some should leave, before there is no room.
func (r *recent) crowded() bool { return 4*r.used() > 3*len(r.ring) || 2*r.n > len(r.index) }

// sparse reports whether it is crowded by entries that do not count.
func (r *recent) sparse() bool { return 8*r.live < 5*len(r.ring) && 2*r.n <= len(r.index) }

// recycle makes room by what does not count, until it is not crowded, or false: it cannot. Nobody else is reading.
func (r *recent) recycle() bool {
	for left := r.entries; left > 0 && 16*r.used() > 11*len(r.ring); left-- {
		if at := r.tail; r.counts(at) {
			if !r.room(r.size(at)) {
				return false
			}
			r.again(at)
		}
		r.next(&r.span)
	}
	return !r.crowded()
}

// again puts an entry at the head, where there is room.
func (r *recent) again(at int) {
	key := r.key(at)
	i, _, _ := r.find(key, xxhash.Sum64(key))
	n := r.size(at)
	if r.head+n > len(r.ring) {
		r.wrap, r.head = r.head, 0
	}
	copy(r.ring[r.head:], r.ring[at:at+n])
	r.ring[at+entryOutdated] = 1
	r.index[i] = r.index[i]>>32<<32 | uint64(r.head+1)
	r.head += n
	r.entries++
}

// batch are the entries that were put first: how many, and where those of them are that count.
type batch struct {
	entries int
	at      []item
}

// item is an entry, and the beginning of its key.
type item struct {
	first uint64
	at    int
}

// oldest returns about a quarter of what there is room for, or all.
func (r *recent) oldest(buf []item) batch {
	b := batch{at: buf[:0]}
	s := r.span
	for taken := 0; s.entries > 0 && (4*taken < len(r.ring) && 8*len(b.at) < 3*len(r.index)); {
		at := s.tail
		if r.counts(at) {
			var first [8]byte
			copy(first[:], r.key(at))
			b.at = append(b.at, item{binary.BigEndian.Uint64(first[:]), at})
		}
		r.next(&s)
		b.entries++
		taken += r.size(at)
	}
	return b
}

// retire lets so many entries go that were put first.
func (r *recent) retire(entries int) {
	for range entries {
		if at := r.tail; r.counts(at) {
			key := r.key(at)
			i, _, _ := r.find(key, xxhash.Sum64(key))
			r.remove(i)
			r.live -= r.size(at)
		}
		r.next(&r.span)
	}
}

// next moves a span's tail on.
func (r *recent) next(s *span) {
	s.tail += r.size(s.tail)
	s.entries--
	if s.wrap > 0 && s.tail == s.wrap {
		s.tail, s.wrap = 0, 0
	}
}

// drop forgets a key. Nobody else is reading.
func (r *recent) drop(key []byte, sum uint64) {
	if i, at, ok := r.find(key, sum); ok {
		r.ring[at+entryGone] = 1
		r.live -= r.size(at)
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
		home := xxhash.Sum64(r.key(int(uint32(r.index[j]))-1)) & mask
		if (j-home)&mask >= (j-i)&mask {
			r.index[i] = r.index[j]
			i = j
		}
	}
	r.index[i] = 0
	r.n--
}
