package randtest

import (
	"bytes"
	"math/rand/v2"
)

// Garble takes some bytes of a text out, or puts one of the parts in.
func Garble(rnd *rand.Rand, text []byte, parts []string) []byte {
	i := rnd.IntN(len(text) + 1)
	if rnd.IntN(3) == 0 {
		return append(text[:i:i], text[min(len(text), i+1+rnd.IntN(4)):]...)
	}
	return append(append(bytes.Clone(text[:i]), parts[rnd.IntN(len(parts))]...), text[i:]...)
}
