package porcupine

import (
	"math/rand/v2"
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

// TestPending: it is a map.
func TestPending(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var p pending
	twin := map[int64]int{}
	for range 20_000 {
		process := []int64{r.Int64N(20), r.Int64N(8000), -r.Int64N(5), r.Int64()}[r.IntN(4)]
		if r.IntN(2) == 0 {
			at := r.IntN(1000)
			p.set(process, at)
			twin[process] = at
		} else {
			p.set(process, -1)
			delete(twin, process)
		}
		process = r.Int64N(20)
		at, ok := p.get(process)
		if want, is := twin[process]; ok != is || ok && at != want {
			t.Fatalf("process %d: %d, %v; want %d, %v", process, at, ok, want, is)
		}
	}
	for process, want := range twin {
		if at, ok := p.get(process); !ok || at != want {
			t.Fatalf("process %d: %d, %v; want %d", process, at, ok, want)
		}
	}
}
