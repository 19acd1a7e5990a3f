package awdit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
)

// slowly is a file with a blank behind each line, which is never plain and says the same.
func slowly(data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(data) {
		out = append(append(out, bytes.TrimSuffix(line, []byte("\n"))...), " \n"...)
	}
	return out
}

// TestPlain: plain lines are read as others are, errors and all.
func TestPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	good, n := 0, histtest.Long(20_000, 1_000_000)
	for range n {
		var data []byte
		for range rnd.IntN(6) {
			switch rnd.IntN(12) {
			case 0:
				data = append(data, "---\n"...)
			case 1:
				data = append(data, "==\n"...)
			case 2:
				data = append(data, [...]string{"\n", "r 1\n", "w  1 2\n",
					"x 1 2\n", "r -1 +2\n", "w 1 2 3\n", " r 1 2\n",
					"r 1 9223372036854775808\n", "w 9223372036854775807 1\n", "r 1 2\r\n", "w 1 x\n"}[rnd.IntN(11)]...)
			default:
				data = fmt.Appendf(data, "%c %d %d\n", "rw"[rnd.IntN(2)], rnd.IntN(3), rnd.Int64N(1<<rnd.IntN(62)))
			}
		}
		h, err := Read(data, "f")
		want, wantErr := Read(slowly(data), "f")
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v; with blanks %v", data, err, wantErr)
		}
		if err != nil {
			continue
		}
		good++
		diff.Same(t, want, h, "%q", data)
	}
	if good < n/4 || good == n {
		t.Errorf("%d of %d texts were histories", good, n)
	}
}
