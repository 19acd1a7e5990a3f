package store

import (
	"slices"
	"sort"
)

// sorted is the index of a column: a multiset of (value, row) in order, with one entry for each committed or pending
// version. It consists of chunks of at most maxChunk entries, so that a change moves few entries. Invariant: no chunk
// is empty.
type sorted struct{ chunks [][]entry }

type entry struct {
	val int64
	row int32
}

const maxChunk = 128

func (e entry) below(f entry) bool { return e.val < f.val || e.val == f.val && e.row < f.row }

// chunk returns the first chunk whose last entry is not below e.
func (x *sorted) chunk(e entry) int {
	return sort.Search(len(x.chunks), func(i int) bool {
		c := x.chunks[i]
		return !c[len(c)-1].below(e)
	})
}

// place returns the index of the first entry of a chunk that is not below e.
func place(c []entry, e entry) int {
	return sort.Search(len(c), func(i int) bool { return !c[i].below(e) })
}

func (x *sorted) add(e entry) {
	if len(x.chunks) == 0 {
		x.chunks = append(x.chunks, append(make([]entry, 0, maxChunk), e))
		return
	}
	i := min(x.chunk(e), len(x.chunks)-1)
	c := x.chunks[i]
	if len(c) == maxChunk {
		half := append(make([]entry, 0, maxChunk), c[maxChunk/2:]...)
		x.chunks = slices.Insert(x.chunks, i+1, half)
		c = c[:maxChunk/2]
		x.chunks[i] = c
		if c[len(c)-1].below(e) {
			i++
			c = half
		}
	}
	x.chunks[i] = slices.Insert(c, place(c, e), e)
}

// remove removes one entry, which must exist.
func (x *sorted) remove(e entry) {
	i := x.chunk(e)
	if i == len(x.chunks) {
		panic("store: an index has lost a version")
	}
	c := x.chunks[i]
	j := place(c, e)
	if c[j] != e {
		panic("store: an index has lost a version")
	}
	if len(c) == 1 {
		x.chunks = slices.Delete(x.chunks, i, i+1)
		return
	}
	x.chunks[i] = slices.Delete(c, j, j+1)
}

// scan calls f with the row of each entry from lo to below hi.
func (x *sorted) scan(lo, hi int64, f func(row int32)) {
	first := entry{lo, 0}
	for i := x.chunk(first); i < len(x.chunks); i++ {
		c := x.chunks[i]
		for j := place(c, first); j < len(c); j++ {
			if c[j].val >= hi {
				return
			}
			f(c[j].row)
		}
	}
}
