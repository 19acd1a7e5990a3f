package plume

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestLine: a line is read as the pattern of lines has it, and no other text is.
func TestLine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	pattern := regexp.MustCompile(`^([rw])\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)(?:[ \t\r\n]|$)`)
	parts := []string{"(", ")", ",", "-", " ", "\n", "\r", "9", "x", "r", "w", "+", "9999999999999999999", ""}
	good, n := 0, histtest.Long(20_000, 1_000_000)
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
		var want line
		m := pattern.FindSubmatch(data)
		is := m != nil
		if is {
			want.write = m[1][0] == 'w'
			for i, to := range [...]*int64{&want.key, &want.value, &want.session, &want.txn} {
				v, err := strconv.ParseInt(string(m[i+2]), 10, 64)
				is = is && err == nil && len(m[i+2]) < 20 // the parser reads 19 digits at most
				*to = v
			}
		}
		p := parser{data: data, lineNo: 1}
		if err := p.line(); (err == nil) != is || is && p.last != want {
			t.Fatalf("%q: %v, %v; want %v", data, p.last, err, want)
		}
		if is {
			good++
		}
	}
	must.Be(t, good >= n/4 && good != n, "%d of %d lines were good", good, n)
}
