// Package heap has a heap of small items sorted by a number, the smallest first. container/heap would allocate for
// every item and call a function for every comparison.
package heap

import "cmp"

// Heap has items sorted by key. Of equal keys the smaller item comes first, so that the order of pushes does not
// matter. Each node has four children. The zero value is empty.
type Heap[K, T cmp.Ordered] struct {
	at []entry[K, T]
}

type entry[K, T cmp.Ordered] struct {
	key  K
	item T
}

// New returns an empty heap with space for n items.
func New[K, T cmp.Ordered](n int) Heap[K, T] { return Heap[K, T]{make([]entry[K, T], 0, n)} }

// Len returns the number of items.
func (h *Heap[K, T]) Len() int { return len(h.at) }

// Top returns the first item without removing it. The heap must not be empty.
func (h *Heap[K, T]) Top() (K, T) { return h.at[0].key, h.at[0].item }

// Push adds an item. Cost: O(log n).
func (h *Heap[K, T]) Push(key K, item T) {
	h.at = append(h.at, entry[K, T]{})
	i := len(h.at) - 1
	for i > 0 {
		up := (i - 1) / 4
		if u := h.at[up]; u.key < key || u.key == key && u.item < item {
			break
		}
		h.at[i] = h.at[up]
		i = up
	}
	h.at[i] = entry[K, T]{key, item}
}

// Pop removes the first item and returns it. The heap must not be empty. Cost: O(log n).
func (h *Heap[K, T]) Pop() (K, T) {
	top := h.at[0]
	n := len(h.at) - 1
	last := h.at[n]
	h.at = h.at[:n]
	i := 0
	for 4*i+1 < n {
		best := 4*i + 1
		for c := best + 1; c < min(4*i+5, n); c++ {
			if x, y := h.at[c], h.at[best]; x.key < y.key || x.key == y.key && x.item < y.item {
				best = c
			}
		}
		if b := h.at[best]; last.key < b.key || last.key == b.key && last.item < b.item {
			break
		}
		h.at[i] = h.at[best]
		i = best
	}
	if n > 0 {
		h.at[i] = last
	}
	return top.key, top.item
}
