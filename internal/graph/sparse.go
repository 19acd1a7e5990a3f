package graph

// Sparse is a value for each node, of which most have the same: pages that nobody wrote to are one page. It is for
// scratch and lists of a few among millions of nodes. The zero value has no nodes; T's zero value is the usual one.
//
// Cost: a look at a page's address more than a slice; 8 bytes for 64 nodes, and a page for those that one of was
// written to.
type Sparse[T any] struct {
	page []*[sparsePage]T
	none *[sparsePage]T
}

const (
	sparseBits = 6
	sparsePage = 1 << sparseBits
)

// Grow makes room for nodes up to n in all.
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

// At returns where the value of a node is, to be written to.
func (s *Sparse[T]) At(v int32) *T {
	p := &s.page[uint32(v)>>sparseBits]
	if *p == s.none {
		*p = new([sparsePage]T)
	}
	return &(*p)[uint32(v)%sparsePage]
}

// Clear has all nodes have the usual value again.
func (s *Sparse[T]) Clear() {
	for i := range s.page {
		s.page[i] = s.none
	}
}
