package ddmin

import (
	"math/rand/v2"
	"testing"

	"isovet/internal/test/histtest/randtest"
)

// TestSweep: of random lists, of which random things must stay, some only together with others, what is left is what
// must stay; and of long lists few tries are needed.
func TestSweep(t *testing.T) {
	randtest.Seeds(t, 500, func(t testing.TB, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := rng.IntN(200)
		there, must := make([]bool, n), make([]bool, n)
		for i := range n {
			there[i], must[i] = true, rng.IntN(20) == 0
		}
		tries := 0
		Sweep(n, func(i int) bool { return there[i] }, func(run []int) bool {
			tries++
			for _, i := range run {
				if !there[i] {
					t.Fatalf("seed %d: %d is tried though it went", seed, i)
				}
				if must[i] {
					return false
				}
			}
			for _, i := range run {
				there[i] = false
			}
			return true
		}, func() bool { return false })
		for i := range n {
			if there[i] != must[i] {
				t.Fatalf("seed %d: %d there: %v; must stay: %v", seed, i, there[i], must[i])
			}
		}
		if tries > 4*n+4 {
			t.Fatalf("seed %d: %d tries for %d things", seed, tries, n)
		}
	})
	there, tries := make([]bool, 10_000), 0
	for i := range there {
		there[i] = true
	}
	Sweep(len(there), func(i int) bool { return there[i] }, func(run []int) bool {
		tries++
		for _, i := range run {
			if i == 17 || i == 9000 {
				return false
			}
		}
		for _, i := range run {
			there[i] = false
		}
		return true
	}, func() bool { return false })
	if tries > 100 {
		t.Errorf("%d tries to find 2 things among 10,000", tries)
	}
}

// TestSweepPairs: a thing that can go only after another one, which comes before it, goes too.
func TestSweepPairs(t *testing.T) {
	there := []bool{true, true, true, true}
	went := Sweep(4, func(i int) bool { return there[i] }, func(run []int) bool {
		if len(run) != 1 || run[0] > 0 && there[run[0]-1] {
			return false
		}
		there[run[0]] = false
		return true
	}, func() bool { return false })
	if !went || there[0] || there[1] || there[2] || there[3] {
		t.Errorf("left: %v", there)
	}
}

// TestSweepStops: nothing is tried once it is to stop.
func TestSweepStops(t *testing.T) {
	if Sweep(9, func(int) bool { return true }, func([]int) bool { panic("tried") }, func() bool { return true }) {
		t.Error("something went")
	}
}
