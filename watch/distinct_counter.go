package watch

import (
	"math"
	"math/bits"
	"slices"
)

// distinct counts different things by their hashes: exactly up to exactDistinct, then by HyperLogLog (Flajolet, Fusy,
// Gandouet, Meunier 2007) with a standard error of 1.04/√1024, 3 %. It takes a kilobyte or two.
type distinct struct {
	Few  []uint64 `json:"few,omitempty"`  // sorted
	Most []byte   `json:"most,omitempty"` // of each part of the hashes, the longest run of zeros, and 1
}

const (
	exactDistinct = 256
	distinctParts = 1024
)

// add reports whether count may say something else now.
func (d *distinct) add(hash uint64) bool {
	if d.Most != nil {
		return d.put(hash)
	}
	i, there := slices.BinarySearch(d.Few, hash)
	if there {
		return false
	}
	d.Few = slices.Insert(d.Few, i, hash)
	if len(d.Few) > exactDistinct {
		d.Most = make([]byte, distinctParts)
		for _, h := range d.Few {
			d.put(h)
		}
		d.Few = nil
	}
	return true
}

func (d *distinct) put(hash uint64) bool {
	run := byte(bits.LeadingZeros64(hash|(distinctParts-1)) + 1)
	m := &d.Most[hash%distinctParts]
	if run <= *m {
		return false
	}
	*m = run
	return true
}

// count is how many there were.
func (d *distinct) count() int64 {
	if d.Most == nil {
		return int64(len(d.Few))
	}
	sum, empty := 0.0, 0
	for _, m := range d.Most {
		sum += math.Ldexp(1, -int(m))
		if m == 0 {
			empty++
		}
	}
	const n = distinctParts
	estimate := 0.7213 / (1 + 1.079/n) * n * n / sum
	if estimate <= 2.5*n && empty > 0 {
		estimate = n * math.Log(n/float64(empty))
	}
	return max(int64(math.Round(estimate)), exactDistinct+1)
}

func (d *distinct) clone() distinct { return distinct{slices.Clone(d.Few), slices.Clone(d.Most)} }
