package logs

import "math/bits"

// Set is a set of pairs of numbers, by open addressing: a lookup costs a multiplication and, as a rule, one comparison.
// The zero value is empty.
type Set struct {
	slot []pair // the pair (0, 0) is a free one
	n    int
	zero bool // (0, 0) is in the set
}

type pair struct{ a, b uint64 }

// Len returns the number of pairs.
func (s *Set) Len() int {
	if s.zero {
		return s.n + 1
	}
	return s.n
}

// find returns where a pair is, or would be.
func (s *Set) find(p pair) int {
	hi, lo := bits.Mul64(p.a^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	hi, lo = bits.Mul64(hi^lo^p.b, 0xa0761d6478bd642f)
	mask := len(s.slot) - 1
	for i := int(hi^lo) & mask; ; i = (i + 1) & mask {
		if s.slot[i] == p || s.slot[i] == (pair{}) {
			return i
		}
	}
}

// Add adds a pair.
func (s *Set) Add(a, b uint64) {
	p := pair{a, b}
	if p == (pair{}) {
		s.zero = true
		return
	}
	if 2*(s.n+1) > len(s.slot) {
		old := s.slot
		s.slot = make([]pair, max(64, 2*len(old)))
		for _, q := range old {
			if q != (pair{}) {
				s.slot[s.find(q)] = q
			}
		}
	}
	if i := s.find(p); s.slot[i] != p {
		s.slot[i] = p
		s.n++
	}
}

// Has reports whether a pair is in the set.
func (s *Set) Has(a, b uint64) bool {
	p := pair{a, b}
	if p == (pair{}) {
		return s.zero
	}
	return s.n > 0 && s.slot[s.find(p)] == p
}
