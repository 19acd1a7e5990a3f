package plume

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/internal/test/histtest"
)

// TestPlain: what is read as plain is what the parser reads, up to the same place.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	parts := []string{"(", ")", ",", "-", " ", "\n", "\r", "9", "x", "r", "w", "+", "9999999999999999999", ""}
	plain, n := 0, histtest.Long(50_000, 2_000_000)
	for range n {
		data := fmt.Appendf(nil, "%c(%d,%d,%d,%d)\n", "rw"[rnd.IntN(2)], rnd.IntN(20), rnd.Int64N(1<<rnd.IntN(62)),
			rnd.IntN(3)-rnd.IntN(2), rnd.IntN(3)-rnd.IntN(2))
		if rnd.IntN(2) == 0 {
			i := rnd.IntN(len(data))
			data = append(append(data[:i:i], parts[rnd.IntN(len(parts))]...), data[i+rnd.IntN(2):]...)
		}
		if len(data) == 0 {
			continue
		}
		a, b := parser{data: data, lineNo: 1}, parser{data: data, lineNo: 1}
		l, ok := a.plain()
		if !ok {
			if a.pos != 0 {
				t.Fatalf("%q: at %d, and nothing was read", data, a.pos)
			}
			continue
		}
		plain++
		if want, err := b.line(); err != nil || want != l || a.pos != b.pos {
			t.Fatalf("%q: plain %v up to %d; want %v up to %d: %v", data, l, a.pos, want, b.pos, err)
		}
	}
	if plain < n/4 || plain == n {
		t.Errorf("%d of %d lines were plain", plain, n)
	}
}
