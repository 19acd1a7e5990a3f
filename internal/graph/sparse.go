package graph

// Sparse has a value for each node, most of which are equal: all pages without a written value are one page. It is for
// scratch memory and for lists of a few among millions of nodes. The zero value has no nodes; T's zero value is the
// usual value.
//
// Cost: one more memory access than a slice; 8 bytes for 64 nodes, and a page for 64 nodes with a written value.
type Sparse[T any] struct {
	page []*[sparsePage]T
	none *[sparsePage]T
}

const (
	sparseBits = 6
	sparsePage = 1 << sparseBits
)

// Grow makes space for nodes up to n in all.
func (s *Sparse[T]) Grow(n int) {
	if s.none == nil {
		s.none = new([sparsePage]T)
	}
	for len(s.page)<<sparseBits < n {
		s.page = append(s.page, s.none)
	}
}

// Get returns the value of a node.
func (s *Sparse[T]) Get(v int32) T { return s.page[uint32(v)>>sparseBits][uint32(v)%sparsePage] }

// At returns a pointer to the value of a node, for writing.
func (s *Sparse[T]) At(v int32) *T {
	p := &s.page[uint32(v)>>sparseBits]
	if *p == s.none {
		*p = new([sparsePage]T)
	}
	return &(*p)[uint32(v)%sparsePage]
}

// Clear resets all nodes to the usual value.
func (s *Sparse[T]) Clear() {
	for i := range s.page {
		s.page[i] = s.none
	}
}
