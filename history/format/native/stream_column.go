package native

import (
	"encoding/binary"
	"os"

	"github.com/cespare/xxhash/v2"
)

// colFile is a column in a temporary file.
type colFile struct {
	f      *os.File
	buf    []byte
	width  int
	rows   int64
	size   int64
	left   int // rows until the present block is full
	hash   *xxhash.Digest
	digest []byte // of the blocks, each a checksum
	err    error
}

func (w *Writer) col(id uint32, width int) *colFile {
	if c := w.cols[id]; c != nil {
		return c
	}
	c := &colFile{width: width, left: blockRows, hash: xxhash.New(), buf: make([]byte, 0, 1<<16)}
	c.f, c.err = os.CreateTemp(w.dir, ".column-*")
	if c.err == nil {
		_ = os.Remove(c.f.Name()) // removed at once, in case the process ends early; Close tries again
	}
	if c.err != nil && w.err == nil {
		w.err = c.err
	}
	w.cols[id] = c
	return c
}

// put appends whole rows.
func (c *colFile) put(b []byte) {
	c.rows += int64(len(b) / c.width)
	c.size += int64(len(b))
	for len(b) > 0 {
		n := min(len(b), c.left*c.width)
		c.hash.Write(b[:n])
		if c.left -= n / c.width; c.left == 0 {
			c.seal()
		}
		c.buf = append(c.buf, b[:n]...)
		b = b[n:]
		if len(c.buf) >= 1<<16 {
			c.flush()
		}
	}
}

func (c *colFile) flush() {
	if c.err == nil && len(c.buf) > 0 {
		_, c.err = c.f.Write(c.buf)
	}
	c.buf = c.buf[:0]
}

func (c *colFile) seal() {
	c.digest = binary.LittleEndian.AppendUint64(c.digest, c.hash.Sum64())
	c.hash.Reset()
	c.left = blockRows
}

// sum returns the section's checksum, once all rows are written.
func (c *colFile) sum() uint64 {
	if c.left < blockRows {
		c.seal()
	}
	return xxhash.Sum64(c.digest)
}

// hash2 mixes two numbers.
func hash2(a, b uint64) uint64 {
	x := (a^b<<32^b>>32)*0x9e3779b97f4a7c15 + b*0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>29
}

// numbering is a hash table that numbers values stored elsewhere.
type numbering struct {
	slot []uint32 // number plus one; 0: free
	n    uint32
}

// add returns the number of the value that is recognises, or the next number if the value is new.
func (t *numbering) add(hash uint64, is func(uint32) bool, hashOf func(uint32) uint64) (uint32, bool) {
	if 4*int(t.n) >= 3*len(t.slot) {
		t.slot = make([]uint32, max(1024, 2*len(t.slot)))
		mask := uint64(len(t.slot) - 1)
		for i := range t.n {
			p := hashOf(i) & mask
			for t.slot[p] != 0 {
				p = (p + 1) & mask
			}
			t.slot[p] = i + 1
		}
	}
	mask := uint64(len(t.slot) - 1)
	for p := hash & mask; ; p = (p + 1) & mask {
		switch s := t.slot[p]; {
		case s == 0:
			t.n++
			t.slot[p] = t.n
			return t.n - 1, true
		case is(s - 1):
			return s - 1, false
		}
	}
}
