package predicates

import (
	"math"

	"isovet/history"
)

// bounds returns the least of some numbers, and the distance from it to the greatest.
func bounds(all []uint64) (low int64, span uint64) {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	for _, n := range all {
		low, high = min(low, int64(n)), max(high, int64(n))
	}
	return low, uint64(high) - uint64(low)
}

// minNarrow is the number of rows from which on a column of integers only is made without cells.
var minNarrow = 256

// narrow makes a column of integers only, from words sorted by sortWords; it does fast what rank does in general.
func (c *column) narrow(words []uint64, low int64) {
	different := 0
	for i, x := range words {
		if i == 0 || x>>32 != words[i-1]>>32 {
			different++
		}
	}
	c.start, c.nums = make([]uint32, 1, different+2), make([]int64, 0, different)
	c.kinds = [...]uint32{history.Bool: 1, history.Int: 1, history.String: uint32(different) + 1,
		history.Row: uint32(different) + 1}
	for i, x := range words {
		if i == 0 || x>>32 != words[i-1]>>32 {
			c.start = append(c.start, uint32(i))
			c.nums = append(c.nums, low+int64(x>>32))
		}
		c.order = append(c.order, uint32(x))
		c.pos[uint32(x)] = uint32(i)
	}
	c.start = append(c.start, uint32(len(c.order)))
	c.rankAll()
}

// sortWords returns words sorted by their upper halves, which are at most span; equal ones keep their order. The words
// given are overwritten.
func sortWords(from []uint64, span uint64) []uint64 {
	const bits = 11
	to := make([]uint64, len(from))
	for shift := 0; shift < 32 && span>>shift > 0; shift += bits {
		var count [1<<bits + 1]uint32
		for _, x := range from {
			count[x>>(32+shift)&(1<<bits-1)+1]++
		}
		for d := range 1 << bits {
			count[d+1] += count[d]
		}
		for _, x := range from {
			d := x >> (32 + shift) & (1<<bits - 1)
			to[count[d]] = x
			count[d]++
		}
		from, to = to, from
	}
	return from
}
