package predicates

import (
	"math/bits"

	"isovet/history"
)

// State has the current version of every key during the replay of a history, and counts which of them match a
// predicate. It is not safe for concurrent use; several States may share an Index.
//
// For each column, the current items are marked in the order of the column's values, and the marks are counted by
// groups of words. There are many more changes than counts; so a count adds up groups, where a Fenwick tree would make
// each change logarithmic. Memory: 4 bytes a key, and 1/8 byte for each version and column.
type State struct {
	*Index
	cur   []uint32 // key → current item; None: there is no row
	marks []marks  // by column, of those in used
}

// marks are a set of places in a column's order.
type marks struct {
	word  []uint64
	group []uint32 // the marks of each 64 words
	super []uint32 // the marks of each 64 groups
}

// NewState returns a state with the initial version of every key. Cost: as Reset.
func (x *Index) NewState() *State {
	s := &State{Index: x, cur: make([]uint32, len(x.itemOf))}
	s.marks = make([]marks, len(x.cols))
	for _, i := range x.used {
		n := len(x.cols[i].order)/64 + 1
		s.marks[i] = marks{make([]uint64, n), make([]uint32, n>>6+1), make([]uint32, n>>12+1)}
	}
	s.Reset()
	return s
}

// Reset makes the initial version of every key current. Cost: linear in the keys, and a 64th of the versions, for each
// column.
func (s *State) Reset() {
	copy(s.cur, s.itemOf)
	s.mark()
}

// Start makes a version of every key current, None meaning the initial one. Cost: as Reset.
func (s *State) Start(ver func(key uint32) uint32) {
	for k := range s.cur {
		s.cur[k] = s.item(uint32(k), ver(uint32(k)))
	}
	s.mark()
}

// mark computes the marks of the current items.
func (s *State) mark() {
	for _, i := range s.used {
		m := &s.marks[i]
		clear(m.word)
		clear(m.group)
		clear(m.super)
		pos := s.cols[i].pos
		for _, item := range s.cur {
			if item == history.None {
				continue
			}
			if at := pos[item]; at != history.None {
				m.word[at>>6] |= 1 << (at & 63)
			}
		}
		for w, x := range m.word {
			n := uint32(bits.OnesCount64(x))
			m.group[w>>6] += n
			m.super[w>>12] += n
		}
	}
}

// Set makes ver the current version of key; None means the initial one. Cost: constant for each column.
func (s *State) Set(key, ver uint32) {
	item, old := s.item(key, ver), s.cur[key]
	if item == old {
		return
	}
	s.cur[key] = item
	for _, i := range s.used {
		pos, m := s.cols[i].pos, &s.marks[i]
		from, to := history.None, history.None
		if old != history.None {
			from = pos[old]
		}
		if item != history.None {
			to = pos[item]
		}
		if from != history.None {
			m.word[from>>6] &^= 1 << (from & 63)
		}
		if to != history.None {
			m.word[to>>6] |= 1 << (to & 63)
		}
		switch {
		case from != history.None && to != history.None && from>>6 == to>>6:
			continue
		case to != history.None:
			m.add(to, 1)
		}
		if from != history.None {
			m.add(from, ^uint32(0))
		}
	}
}

func (m *marks) add(at, by uint32) {
	m.group[at>>12] += by
	m.super[at>>18] += by
}

// between returns the number of marked places from lo up to hi. Cost: a step for 64 places; for wide ranges that of
// below.
func (m *marks) between(lo, hi uint32) int {
	if hi-lo > 1<<12 {
		return m.below(hi) - m.below(lo)
	}
	if lo >= hi {
		return 0
	}
	first, last := lo>>6, (hi-1)>>6
	head, tail := ^uint64(0)<<(lo&63), ^uint64(0)>>(63-(hi-1)&63)
	if first == last {
		return bits.OnesCount64(m.word[first] & head & tail)
	}
	n := bits.OnesCount64(m.word[first]&head) + bits.OnesCount64(m.word[last]&tail)
	for _, x := range m.word[first+1 : last] {
		n += bits.OnesCount64(x)
	}
	return n
}

// below returns the number of marked places below at. Cost: at most 64 steps a level, and one for each 2^18 places.
func (m *marks) below(at uint32) int {
	n := uint32(bits.OnesCount64(m.word[at>>6] & (1<<(at&63) - 1)))
	for _, x := range m.word[at>>12<<6 : at>>6] {
		n += uint32(bits.OnesCount64(x))
	}
	for _, x := range m.group[at>>18<<6 : at>>12] {
		n += x
	}
	for _, x := range m.super[:at>>18] {
		n += x
	}
	return int(n)
}

// Count returns the number of keys whose current version predicate p is true of. Cost: for a predicate on one column, a
// step for 64 versions of each range, at most 200 and one for each 2^18 versions; otherwise as Each.
func (s *State) Count(p uint32) int {
	n := 0
	d := s.pred[p]
	if !s.simple(d) {
		s.Each(p, func(uint32) { n++ })
		return n
	}
	l := &s.parts[s.root[d]]
	start, m := s.cols[l.col].start, &s.marks[l.col]
	for _, r := range s.ranges(l) {
		n += m.between(start[r.lo], start[r.hi])
	}
	return n
}

// Each calls f for each key whose current version predicate p is true of. Cost: linear in the calls, plus a 64th of the
// versions of which p is true; for a predicate on several columns, of those of which the most selective part of its
// "and"s is true. It allocates nothing.
func (s *State) Each(p uint32, f func(key uint32)) {
	s.eachMarked(p, func(col uint32) []uint64 { return s.marks[col].word }, func(item uint32) { f(s.key(item)) })
}

// eachMarked calls f for each item of which predicate p is true and which is marked in words(col), a bit set of places
// in a column.
func (x *Index) eachMarked(p uint32, words func(col uint32) []uint64, f func(item uint32)) {
	d := x.pred[p]
	how := x.form(d)
	for i := x.scanOff[d]; i < x.scanOff[d+1]; i++ {
		l := &x.parts[x.scan[i]]
		c, marked := &x.cols[l.col], words(l.col)
		for _, r := range x.ranges(l) {
			from, to := c.start[r.lo], c.start[r.hi]
			for w := from >> 6; w<<6 < to; w++ {
				word := marked[w]
				if w == from>>6 {
					word &^= 1<<(from&63) - 1
				}
				if left := to - w<<6; left < 64 {
					word &= 1<<left - 1
				}
				for ; word != 0; word &= word - 1 {
					if item := c.order[w<<6+uint32(bits.TrailingZeros64(word))]; x.counts(how, d, i, item) {
						f(item)
					}
				}
			}
		}
	}
}
