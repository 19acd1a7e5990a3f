package workload

import (
	"math"
	"math/rand/v2"
	"slices"

	"isovet/internal/slice"
)

// Dist is a distribution of keys 0..n-1. It is immutable and may be shared. The caller passes the source of randomness.
type Dist interface {
	Draw(rng *rand.Rand) int64
}

// Uniform draws every key with equal probability.
type Uniform int64

func (n Uniform) Draw(rng *rand.Rand) int64 { return rng.Int64N(int64(n)) }

// Hotspot makes 80 % of the draws from the first 20 % of the keys (CHRONOS, Table I).
type Hotspot int64

func (n Hotspot) Draw(rng *rand.Rand) int64 {
	hot := max(int64(n)/5, 1)
	if hot == int64(n) || rng.Uint64N(10) < 8 {
		return rng.Int64N(hot)
	}
	return hot + rng.Int64N(int64(n)-hot)
}

// Alias draws key k with any given weight, by Walker's alias method: each draw reads two table entries, however many
// keys there are.
type Alias struct {
	keep  []float64
	other []uint32
}

// NewZipf returns the Zipf distribution with P(k) ∝ 1/(k+1)^theta. theta may be below 1. Cost: O(n) once.
func NewZipf(n int, theta float64) *Alias {
	w := make([]float64, n)
	for k := range w {
		w[k] = math.Pow(float64(k+1), -theta)
	}
	return NewAlias(w)
}

// NewExponential returns the exponential distribution with 95 % of the draws from the first 6/7 of the keys, YCSB's
// default. Cost: O(n) once.
func NewExponential(n int) *Alias {
	w := make([]float64, n)
	gamma := -math.Log(0.05) / (float64(n) * 6 / 7)
	for k := range w {
		w[k] = math.Exp(-gamma * float64(k))
	}
	return NewAlias(w)
}

// NewAlias returns the distribution with the given weights. None may be negative, and one must be positive.
func NewAlias(weight []float64) *Alias {
	n := len(weight)
	sum := 0.0
	for _, w := range weight {
		sum += w
	}
	a := &Alias{keep: make([]float64, n), other: make([]uint32, n)}
	var small, large []uint32
	for k, w := range weight {
		a.keep[k] = w * float64(n) / sum
		if a.keep[k] < 1 {
			small = append(small, uint32(k))
		} else {
			large = append(large, uint32(k))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.other[s] = l
		a.keep[l] -= 1 - a.keep[s]
		if a.keep[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, k := range append(small, large...) {
		a.keep[k] = 1 // what rounding has left over
	}
	return a
}

func (a *Alias) Draw(rng *rand.Rand) int64 {
	k := rng.Int64N(int64(len(a.keep)))
	if rng.Float64() < a.keep[k] {
		return k
	}
	return int64(a.other[k])
}

// distinct draws different keys.
type distinct struct{ drawn map[int64]bool }

// draw appends m distinct keys of d to dst. There must be at least m keys. For each key a transaction of a thousand
// operations costs no more than one of eight.
func (x *distinct) draw(dst []int64, m int, d Dist, rng *rand.Rand) []int64 {
	from, many := len(dst), m > 16
	slice.MakeMap(&x.drawn)
	clear(x.drawn)
	for len(dst) < from+m {
		k := d.Draw(rng)
		if many && x.drawn[k] || !many && slices.Contains(dst[from:], k) {
			continue
		}
		if many {
			x.drawn[k] = true
		}
		dst = append(dst, k)
	}
	return dst
}
