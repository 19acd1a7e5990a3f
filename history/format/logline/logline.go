// Package logline reads and writes lines of isovet watch's segment log. A line has its place in the source, the name of
// the source's stream if there are several, the text that arrived, and a checksum of all three.
//
//	17~1a2b3c4d<TAB>line
//	17~1a2b3c4d name<TAB>line
//
// Lines of former versions have no checksum: "17<TAB>line".
//
// Experimental: this package may still change.
package logline

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	mark   = '~'
	digits = 8 // of a checksum, hexadecimal
)

// Begin appends the beginning of a log line. The caller then appends the text, calls End with everything from where
// Begin started, and appends the line end.
func Begin(dst []byte, place int64, of string) []byte {
	dst = strconv.AppendInt(dst, place, 10)
	dst = append(dst, "~00000000"...)
	if of != "" {
		dst = append(append(dst, ' '), of...)
	}
	return append(dst, '\t')
}

// End writes the checksum into a line that Begin started, without its line end.
func End(line []byte) {
	at := bytes.IndexByte(line, mark)
	sum := checksum(line, at)
	const hex = "0123456789abcdef"
	for i := range digits {
		line[at+digits-i] = hex[sum&15]
		sum >>= 4
	}
}

// checksum returns the checksum of a line, leaving out the checksum itself, which stands behind the mark.
func checksum(line []byte, at int) uint32 {
	sum := crc32.Update(0, castagnoli, line[:at])
	return crc32.Update(sum, castagnoli, line[at+1+digits:])
}

// Append appends a whole line with its end.
func Append(dst []byte, place int64, of, line string) []byte {
	at := len(dst)
	dst = append(Begin(dst, place, of), line...)
	End(dst[at:])
	return append(dst, '\n')
}

// ErrDamaged says that a line changed after it was written.
var ErrDamaged = errors.New("the record is damaged")

// Reader splits lines of a segment, one after the other. Its zero value is for the segment's first line. From the first
// line with a checksum on, every line must have one.
type Reader struct{ Summed bool }

// Cut splits a line, given without its line end. The error is ErrDamaged, with the checksums found and expected.
func (r *Reader) Cut(line []byte) (place int64, of, text []byte, err error) {
	tab := bytes.IndexByte(line, '\t')
	head := line[:max(tab, 0)]
	n := 0
	for n < len(head) && (head[n]-'0' <= 9 || n == 0 && head[0] == '-') {
		n++
	}
	place, err = strconv.ParseInt(string(head[:n]), 10, 64)
	summed := n+digits < len(head) && head[n] == mark
	rest := head[n:]
	if summed {
		rest = head[n+1+digits:]
	}
	if tab < 0 || err != nil || len(rest) > 0 && rest[0] != ' ' || r.Summed && !summed {
		return 0, nil, nil, fmt.Errorf("found %.40q; expected a place and a line: %w", line, ErrDamaged)
	}
	if summed {
		var sum uint64
		sum, err = strconv.ParseUint(string(head[n+1:n+1+digits]), 16, 32)
		if is := checksum(line, n); err != nil || uint32(sum) != is {
			return 0, nil, nil, fmt.Errorf("found %.40q with checksum %08x, but it says %s: %w", line, is,
				head[n+1:n+1+digits], ErrDamaged)
		}
		r.Summed = true
	}
	if len(rest) > 0 {
		of = rest[1:]
	}
	return place, of, line[tab+1:], nil
}

// Torn reports whether no whole record follows a damaged line: then a write was cut off there. Only lines with
// checksums can show it.
func (r *Reader) Torn(behind []byte) bool {
	if !r.Summed {
		return false
	}
	for line := range bytes.Lines(behind) {
		if line[len(line)-1] != '\n' {
			break
		}
		x := Reader{Summed: true}
		if _, _, _, err := x.Cut(line[:len(line)-1]); err == nil {
			return false
		}
	}
	return true
}
