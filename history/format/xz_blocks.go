package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// xzGuard passes on a file in xz and parses its blocks (xz-file-format 1.2.1, sections 2 to 4; the chunks of LZMA2 as
// in liblzma). It refuses a block that needs a large dictionary before the library sees it: the library allocates the
// dictionary at once, whatever the block holds. It refuses data that does not follow the format, so that no block
// escapes the check.
type xzGuard struct {
	r    io.Reader
	skip int64 // bytes to pass on without parsing
	need int   // bytes that step needs after these
	buf  []byte
	step func(b []byte) error // takes need bytes, and sets the next step
	err  error

	check  int64 // bytes of a block's checksum
	block  int64 // bytes of a block behind its header
	index  int64 // bytes of the index
	left   uint64
	number uint64 // the current number of the index, as far as it is read
	shift  uint
}

var errXZ = errors.New("it does not follow the format")

func newXZGuard(r io.Reader) *xzGuard {
	g := &xzGuard{r: r}
	g.want(12, g.header)
	return g
}

func (g *xzGuard) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.r.Read(p)
	if g.err = g.follow(p[:n]); g.err != nil {
		return 0, g.err
	}
	return n, err
}

func (g *xzGuard) follow(b []byte) error {
	for len(b) > 0 {
		if g.skip > 0 {
			n := min(g.skip, int64(len(b)))
			g.skip -= n
			b = b[n:]
			continue
		}
		n := min(g.need-len(g.buf), len(b))
		g.buf = append(g.buf, b[:n]...)
		b = b[n:]
		if len(g.buf) < g.need {
			return nil
		}
		got := g.buf
		g.buf = g.buf[:0]
		if err := g.step(got); err != nil {
			return err
		}
	}
	return nil
}

func (g *xzGuard) want(n int, step func(b []byte) error) { g.need, g.step = n, step }

func (g *xzGuard) header(b []byte) error {
	if string(b[:7]) != "\xfd7zXZ\x00\x00" {
		return errXZ
	}
	g.check = [...]int64{0, 4, 8, 16, 32, 64}[(b[7]&15+2)/3]
	g.want(1, g.blockSize)
	return nil
}

func (g *xzGuard) blockSize(b []byte) error {
	if b[0] == 0 {
		g.index, g.left, g.number, g.shift = 1, 0, 0, 0
		g.want(1, g.records)
		return nil
	}
	g.want(4*(int(b[0])+1)-1, g.blockHeader)
	return nil
}

// blockHeader reads the header of a block, behind its size.
func (g *xzGuard) blockHeader(b []byte) error {
	flags, rest := b[0], b[1:len(b)-4]
	number := func() uint64 {
		n, size := binary.Uvarint(rest)
		rest = rest[max(0, min(size, len(rest))):]
		return n
	}
	for _, has := range []byte{0x40, 0x80} { // the block's sizes
		if flags&has != 0 {
			number()
		}
	}
	for range flags&3 + 1 {
		const lzma2 = 0x21
		filter, size := number(), number()
		if uint64(len(rest)) < size {
			return errXZ
		}
		if filter == lzma2 {
			if size != 1 || rest[0] > 40 {
				return errXZ
			}
			if d := uint64(2|rest[0]&1) << (rest[0]/2 + 11); d > maxSpan {
				return fmt.Errorf("it needs a dictionary of %d MiB; expected at most %d (decompress it and give the "+
					"plain file)", d>>20, maxSpan>>20)
			}
		}
		rest = rest[size:]
	}
	g.block = 0
	g.want(1, g.chunk)
	return nil
}

func (g *xzGuard) chunk(b []byte) error {
	g.block++
	switch c := b[0]; {
	case c == 0:
		g.skip = -g.block&3 + g.check
		g.want(1, g.blockSize)
	case c <= 2:
		g.want(2, g.plainChunk)
	case c >= 0xc0:
		g.want(5, g.packedChunk) // the last byte sets properties
	case c >= 0x80:
		g.want(4, g.packedChunk)
	default:
		return errXZ
	}
	return nil
}

func (g *xzGuard) plainChunk(b []byte) error {
	g.jump(len(b), b)
	return nil
}

func (g *xzGuard) packedChunk(b []byte) error {
	g.jump(len(b), b[2:])
	return nil
}

// jump goes to the next chunk: behind the header's remaining bytes there are size + 1 bytes.
func (g *xzGuard) jump(header int, size []byte) {
	g.skip = int64(binary.BigEndian.Uint16(size)) + 1
	g.block += int64(header) + g.skip
	g.want(1, g.chunk)
}

// records reads a byte of the index's numbers: the number of blocks, then two numbers for each.
func (g *xzGuard) records(b []byte) error {
	g.index++
	if g.shift > 56 {
		return errXZ
	}
	g.number |= uint64(b[0]&0x7f) << g.shift
	if g.shift += 7; b[0] >= 0x80 {
		return nil
	}
	switch {
	case g.left > 0:
		g.left--
	case g.number > 1<<40:
		return errXZ
	default:
		g.left = 2 * g.number
	}
	g.number, g.shift = 0, 0
	if g.left == 0 {
		const crc, footer = 4, 12
		g.skip = -g.index&3 + crc + footer
		g.want(4, g.behind)
	}
	return nil
}

// behind reads the bytes that follow a stream: padding of zeros, in fours, or another stream.
func (g *xzGuard) behind(b []byte) error {
	if string(b) == "\x00\x00\x00\x00" {
		return nil
	}
	head := [12]byte(append(b, make([]byte, 8)...))
	g.want(8, func(b []byte) error {
		copy(head[4:], b)
		return g.header(head[:])
	})
	return nil
}
