package logs

// Numbers is a set of numbers that stores a bit each, in pages of 512 that are found by hashing. It is small if most
// numbers are near others, as counted ids are. The zero value is empty.
type Numbers struct {
	index []page // by hash of a page's number
	bits  [][8]uint64
	n     int
}

// page is an index entry: a page's number, and the place of its bits, plus one; 0: free.
type page struct {
	number uint64
	at     uint32
}

// find returns the index entry of a page, or the free one where it belongs.
func (s *Numbers) find(number uint64) int {
	mask := len(s.index) - 1
	h := number * 0x9e3779b97f4a7c15
	for i := int(h>>32) & mask; ; i = (i + 1) & mask {
		if s.index[i].at == 0 || s.index[i].number == number {
			return i
		}
	}
}

// Len returns the number of numbers.
func (s *Numbers) Len() int { return s.n }

// Add adds a number.
func (s *Numbers) Add(n uint64) {
	if 2*(len(s.bits)+1) > len(s.index) {
		old := s.index
		s.index = make([]page, max(64, 2*len(old)))
		for _, p := range old {
			if p.at != 0 {
				s.index[s.find(p.number)] = p
			}
		}
	}
	i := s.find(n >> 9)
	if s.index[i].at == 0 {
		s.bits = append(s.bits, [8]uint64{})
		s.index[i] = page{n >> 9, uint32(len(s.bits))}
	}
	word := &s.bits[s.index[i].at-1][n>>6&7]
	if *word>>(n&63)&1 == 0 {
		*word |= 1 << (n & 63)
		s.n++
	}
}

// Has reports whether a number is in the set.
func (s *Numbers) Has(n uint64) bool {
	if s.n == 0 {
		return false
	}
	at := s.index[s.find(n>>9)].at
	return at != 0 && s.bits[at-1][n>>6&7]>>(n&63)&1 == 1
}
