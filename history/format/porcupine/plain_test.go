package porcupine

import (
	"strconv"
	"testing"
)

// TestInteger: it is strconv.ParseInt.
func TestInteger(t *testing.T) {
	for _, s := range []string{"", "0", "7", "-7", "+7", "007", "x", "1x", "1_0", "999999999999999999",
		"9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "00000000000000000000001", "1 ", "\x00"} {
		want, werr := strconv.ParseInt(s, 10, 64)
		if got, err := integer([]byte(s)); got != want || (err == nil) != (werr == nil) {
			t.Errorf("%q: %d, %v; want %d, %v", s, got, err, want, werr)
		}
	}
}
