package graph

import "math/bits"

// SortIndex returns the indices of keys in ascending order of keys, and for equal keys in ascending order.
//
// If keys are sorted already, it needs one pass. Otherwise a radix sort by bytes, least significant first, skips the
// bytes that are equal in all keys: time stamps of one run differ in few of their bytes.
//
// Cost: O(n) for each differing byte; 16 bytes of scratch memory a key, or 32 if the distance from the least key and
// an index do not fit in one word.
func SortIndex(keys []int64) []int32 {
	n := len(keys)
	index := make([]int32, n)
	for i := range index {
		index[i] = int32(i)
	}
	sorted := true
	for i := 1; i < n; i++ {
		if keys[i] < keys[i-1] {
			sorted = false
			break
		}
	}
	if sorted {
		return index
	}
	low, high := keys[0], keys[0]
	for _, k := range keys {
		low, high = min(low, k), max(high, k)
	}
	if span := uint64(high) - uint64(low); span>>(64-bits.Len(uint(n))) == 0 {
		sortNear(keys, index, low, span)
		return index
	}
	sortFar(keys, index)
	return index
}

// sortNear is SortIndex if a key's distance from low and an index fit in one word.
func sortNear(keys []int64, index []int32, low int64, span uint64) {
	n := len(keys)
	width := bits.Len(uint(n))
	digits := (bits.Len64(span) + 7) / 8
	var count [8][256]uint32
	a, b := make([]uint64, n), make([]uint64, n)
	for i, k := range keys {
		u := uint64(k) - uint64(low)
		a[i] = u<<width | uint64(i)
		for d := range digits {
			count[d][byte(u>>(8*d))]++
		}
	}
	for d := range digits {
		c := &count[d]
		shift := 8*d + width
		if c[byte(a[0]>>shift)] == uint32(n) {
			continue
		}
		sum := uint32(0)
		for i := range c {
			c[i], sum = sum, sum+c[i]
		}
		for _, it := range a {
			p := &c[byte(it>>shift)]
			b[*p] = it
			*p++
		}
		a, b = b, a
	}
	for i, it := range a {
		index[i] = int32(it & (1<<width - 1))
	}
}

// sortFar is SortIndex for any keys.
func sortFar(keys []int64, index []int32) {
	n := len(keys)
	type item struct {
		key uint64
		id  int32
	}
	// The sign bit is turned so that unsigned order is signed order.
	var count [8][256]uint32
	a, b := make([]item, n), make([]item, n)
	for i, k := range keys {
		u := uint64(k) ^ 1<<63
		a[i] = item{u, int32(i)}
		for d := range count {
			count[d][byte(u>>(8*d))]++
		}
	}
	for d := range count {
		c := &count[d]
		if c[byte(a[0].key>>(8*d))] == uint32(n) {
			continue
		}
		sum := uint32(0)
		for i := range c {
			c[i], sum = sum, sum+c[i]
		}
		for _, it := range a {
			p := &c[byte(it.key>>(8*d))]
			b[*p] = it
			*p++
		}
		a, b = b, a
	}
	for i, it := range a {
		index[i] = it.id
	}
}
