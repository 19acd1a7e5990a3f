package saved

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestReader(t *testing.T) {
	b := []byte{7}
	b = binary.LittleEndian.AppendUint64(b, math.MaxUint64-1)
	b = binary.AppendVarint(b, math.MinInt64)
	b = binary.AppendUvarint(b, math.MaxUint64)
	b = append(binary.AppendUvarint(b, 2), 1, 2)
	r := Reader{B: b}
	if c, w, i, u, n := r.Byte(), r.Word(), r.Int(), r.Uint(), r.Count(); c != 7 || w != math.MaxUint64-1 ||
		i != math.MinInt64 || u != math.MaxUint64 || n != 2 || r.Bad || len(r.B) != 2 {
		t.Errorf("read %d %d %d %d %d, %+v", c, w, i, u, n, r)
	}
	// Cut off anywhere it is bad, and gives no more than there is.
	for cut := range len(b) - 2 {
		r := Reader{B: b[:cut]}
		r.Byte()
		r.Word()
		r.Int()
		r.Uint()
		if n := r.Count(); !r.Bad || n != 0 {
			t.Errorf("of %d bytes: %d, %+v", cut, n, r)
		}
	}
}
