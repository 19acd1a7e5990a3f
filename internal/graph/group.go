package graph

// Groups sorts items by key in two passes over them: Count each one's key, Sum, Place each one. What Place says for an
// item is its place in a slice of all, in which those of one key stand together in the order in which they were placed;
// Off says where. The items themselves stay with the caller, who may have several columns of them.
//
// Cost: linear, one slice of n+2 words; the methods are small enough to be inlined.
type Groups[T int32 | uint32] struct{ next []T }

// NewGroups starts a sort by the keys 0 … n−1.
func NewGroups[T int32 | uint32](n int) Groups[T] { return Groups[T]{make([]T, n+2)} }

// Count announces an item.
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

// Place returns the place of an announced item.
func (g Groups[T]) Place(key T) (at T) {
	at = g.next[key+1]
	g.next[key+1]++
	return at
}

// Off returns the offsets, when all items are placed: those of key k are at Off[k] … Off[k+1]−1. The slice is the
// groups' own.
func (g Groups[T]) Off() []T { return g.next[:len(g.next)-1] }

// Group returns the indices of keys, each from 0 to n−1, by key and among equal keys ascending: those of key k are
// items[off[k]:off[k+1]].
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
