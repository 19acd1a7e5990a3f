package logs

import "isovet/internal/slice"

// Numbers is a set of numbers that stores a bit each, in pages of 512. It is small if most numbers are near others, as
// counted ids are. The zero value is empty.
type Numbers struct {
	pages map[uint64]*[8]uint64
	n     int
}

// Len returns the number of numbers.
func (s *Numbers) Len() int { return s.n }

// Add adds a number.
func (s *Numbers) Add(n uint64) {
	p := s.pages[n>>9]
	if p == nil {
		p = new([8]uint64)
		slice.MakeMap(&s.pages)
		s.pages[n>>9] = p
	}
	if word := &p[n>>6&7]; *word>>(n&63)&1 == 0 {
		*word |= 1 << (n & 63)
		s.n++
	}
}

// Has reports whether a number is in the set.
func (s *Numbers) Has(n uint64) bool {
	p := s.pages[n>>9]
	return p != nil && p[n>>6&7]>>(n&63)&1 == 1
}
