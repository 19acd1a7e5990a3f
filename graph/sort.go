package graph

// SortIndex returns the indices of keys in ascending key order, equal keys in index order.
//
// Keys already in order cost one pass. Otherwise a radix sort by bytes, least significant first,
// leaves out the bytes on which all keys agree: time stamps of one run differ in few of their bytes.
//
// Cost: O(n) per differing byte, 24 bytes of scratch a key.
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
	return index
}
