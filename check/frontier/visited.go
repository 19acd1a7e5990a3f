package frontier

import "github.com/cespare/xxhash/v2"

// visited is a set of frontiers, each packed into as few bytes a lane as the longest lane needs. It compares frontiers,
// not only their hashes.
type visited struct {
	width int // bytes a lane
	size  int // bytes a frontier
	slab  []byte
	table []uint32 // 0: empty; else the frontier's number plus 1. A power of two long, at most half full
	n     int
	key   []byte
}

func newVisited(lanes, longest int) *visited {
	s := &visited{width: 1, table: make([]uint32, 1<<10)}
	for longest >= 1<<(8*s.width) {
		s.width++
	}
	s.size = max(lanes*s.width, 1)
	s.key = make([]byte, s.size)
	return s
}

func (s *visited) at(i uint32) []byte { return s.slab[int(i)*s.size : (int(i)+1)*s.size] }

// add adds a frontier and reports whether it is new.
func (s *visited) add(frontier []uint32) bool {
	k := s.key[:0]
	for _, p := range frontier {
		for b := range s.width {
			k = append(k, byte(p>>(8*b)))
		}
	}
	mask := uint64(len(s.table) - 1)
	i := xxhash.Sum64(k) & mask
	for ; s.table[i] != 0; i = (i + 1) & mask {
		if len(frontier) == 0 || string(s.at(s.table[i]-1)) == string(k) {
			return false
		}
	}
	s.slab = append(s.slab, k...)
	s.n++
	s.table[i] = uint32(s.n)
	if 2*s.n > len(s.table) {
		s.grow()
	}
	return true
}

func (s *visited) grow() {
	s.table = make([]uint32, 2*len(s.table))
	mask := uint64(len(s.table) - 1)
	for n := range uint32(s.n) {
		i := xxhash.Sum64(s.at(n)) & mask
		for s.table[i] != 0 {
			i = (i + 1) & mask
		}
		s.table[i] = n + 1
	}
}
