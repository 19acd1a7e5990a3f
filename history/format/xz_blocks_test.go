package format

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ulikunitz/xz"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// xzFile makes streams of small blocks, with every kind of checksum, and zeros between the streams.
func xzFile(t *testing.T, rnd *rand.Rand, streams int) (data, content []byte) {
	t.Helper()
	for range streams {
		var buf bytes.Buffer
		w, err := xz.WriterConfig{DictCap: 4096, BlockSize: 1 + rnd.Int64N(3000), CheckSum: []byte{xz.CRC32, xz.CRC64,
			xz.SHA256}[rnd.IntN(3)], NoCheckSum: rnd.IntN(4) == 0}.NewWriter(&buf)
		must.OK(t, err)
		part := make([]byte, rnd.IntN(9000))
		for i := range part {
			part[i] = byte(rnd.IntN(1 + rnd.IntN(256)))
		}
		content = append(content, part...)
		if _, err = w.Write(part); err == nil {
			err = w.Close()
		}
		must.OK(t, err)
		data = append(append(data, buf.Bytes()...), make([]byte, 4*rnd.IntN(3))...)
	}
	return data, content
}

// TestXZGuard: the guard lets everything pass that the library reads, in pieces of any size, and follows it to the end.
func TestXZGuard(t *testing.T) {
	for seed := range uint64(histtest.Long(15, 3000)) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		data, content := xzFile(t, rnd, 1+rnd.IntN(3))
		var in io.Reader = bytes.NewReader(data)
		if seed%2 == 0 {
			in = iotest.OneByteReader(in)
		}
		r := must.Get(readXZ(newXZGuard(in)))(t)
		got, err := io.ReadAll(r)
		must.Hold(t, err == nil && bytes.Equal(got, content),
			"seed %d: %d bytes of %d: %v", seed, len(got), len(content), err)
	}
}

// TestXZLaterBlock: a large dictionary is refused in whichever block asks for it, before the library sees that.
func TestXZLaterBlock(t *testing.T) {
	for seed := range uint64(histtest.Long(15, 100)) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		data, _ := xzFile(t, rnd, 1+rnd.IntN(3))
		// Of 4096 bytes asks 0x00; the last block header of all, in which 4 GiB less one byte, 0x28, is asked for. Its
		// checksum is wrong then, which only the library looks at.
		at := bytes.LastIndex(data, []byte{0x21, 1, 0})
		if at < 0 {
			continue // no block
		}
		data[at+2] = 40
		_, err := io.ReadAll(newXZGuard(bytes.NewReader(data)))
		must.Hold(t, err != nil && strings.Contains(err.Error(), "a dictionary of "), "seed %d: %v", seed, err)
	}
}
