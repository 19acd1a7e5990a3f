package graph

// Groups sorts items by key in two passes over them: Count each item's key, Sum, Place each item. Place returns an
// item's index in a slice of all items, in which those with one key are together, in the order of the calls; Off
// returns the indexes where keys begin. The caller stores the items, perhaps in several columns.
//
// Cost: linear, one slice of n+2 words; the methods are small enough to be inlined.
type Groups[T int32 | uint32] struct{ next []T }

// NewGroups starts a sort by the keys 0 … n−1.
func NewGroups[T int32 | uint32](n int) Groups[T] { return Groups[T]{make([]T, n+2)} }

// Count counts an item.
func (g Groups[T]) Count(key T) { g.next[key+2]++ }

// Sum ends the counting and returns the number of items.
func (g Groups[T]) Sum() (total int) {
	sum := T(0)
	for i, c := range g.next {
		sum += c
		g.next[i] = sum
	}
	return int(sum)
}

// Place returns the index for a counted item.
func (g Groups[T]) Place(key T) (at T) {
	at = g.next[key+1]
	g.next[key+1]++
	return at
}

// Off returns the offsets when all items are placed: those of key k are at Off[k] … Off[k+1]−1. The caller must not
// change the slice.
func (g Groups[T]) Off() []T { return g.next[:len(g.next)-1] }

// Group returns the indices of keys, each of which is from 0 to n−1, sorted by key and then ascending: those of key k
// are items[off[k]:off[k+1]].
func Group[T int32 | uint32](keys []T, n int) (off, items []T) {
	g := NewGroups[T](n)
	for _, k := range keys {
		g.Count(k)
	}
	items = make([]T, g.Sum())
	for i, k := range keys {
		items[g.Place(k)] = T(i)
	}
	return g.Off(), items
}
