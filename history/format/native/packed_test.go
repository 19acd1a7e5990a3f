package native

import (
	"bytes"
	"encoding/binary"
	"io"
	"regexp"

	"isovet/history"
)

// packed is the naive twin of the checks of rows that stand packed.
func packed(t *history.Texts, x *rest) bool {
	if x.shapes == nil {
		return true
	}
	skeleton := regexp.MustCompile(`(?s)^\{"[^"\\]*":(,"[^"\\]*":)*\}$`)
	text := func(id uint32) []byte { return x.arena[x.textOff[id]:x.textOff[id+1]] }
	for _, s := range x.shapes {
		if int(s) >= t.Len() {
			return false
		}
	}
	for id := range uint32(t.Len()) {
		b := text(id)
		if len(b) == 0 || b[0] != 0xff || len(b) > 1 && b[1] == 0 {
			continue
		}
		if len(b) < 3 {
			return false
		}
		r := bytes.NewReader(b[2:])
		shape, err := binary.ReadUvarint(r)
		if err != nil || shape >= uint64(len(x.shapes)) {
			return false
		}
		s := text(x.shapes[shape])
		if columns := bytes.Count(s, []byte(`":`)); !skeleton.Match(s) || columns != int(b[1]) {
			return false
		}
		codes := make([]byte, (int(b[1])+3)/4)
		if _, err := io.ReadFull(r, codes); err != nil {
			return false
		}
		size := 0
		for i := range int(b[1]) {
			size += 1 << (codes[i/4] >> (i % 4 * 2) & 3)
		}
		if r.Len() != size {
			return false
		}
	}
	return true
}
