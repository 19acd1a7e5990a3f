package keystore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// each calls f with the entries of a span, the first that was put first, outdated ones too.
func (r *recent) each(s span, f func(key, val []byte, gone bool) error) error {
	for s.entries > 0 {
		if err := f(r.key(s.tail), r.val(s.tail), r.ring[s.tail+entryGone] != 0); err != nil {
			return err
		}
		r.next(&s)
	}
	return nil
}

// save writes a span to a file: the lengths of key and value, the latter 1 more, or 0 for a key that was taken out, and
// the bytes of both, in the order in which they were put; and a checksum.
func (r *recent) save(path string, s span) error {
	return writeFile(path, func(w io.Writer) error {
		sum := crc32.New(castagnoli)
		var b []byte
		flush := func() error {
			_, err := w.Write(b)
			sum.Write(b)
			b = b[:0]
			return err
		}
		err := r.each(s, func(key, val []byte, gone bool) error {
			b = binary.AppendUvarint(b, uint64(len(key)))
			if gone {
				b = append(append(b, 0), key...)
			} else {
				b = append(append(binary.AppendUvarint(b, uint64(len(val)+1)), key...), val...)
			}
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
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// readRecent calls put with what a file has, and gone with keys that were taken out; without a file there is nothing.
func readRecent(path string, put func(key, val []byte) error, gone func(key []byte)) error {
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
		if k <= 0 || v < 0 || k+max(v-1, 0) > len(b) {
			return fmt.Errorf("%s: a length is wrong: %w", path, ErrDamaged)
		}
		if v--; v < 0 {
			gone(b[:k])
			b = b[k:]
			continue
		}
		if err := put(b[:k], b[k:k+v]); err != nil {
			return err
		}
		b = b[k+v:]
	}
	return nil
}
