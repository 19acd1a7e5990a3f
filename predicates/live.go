package predicates

import (
	"math/bits"

	"isovet/history"
)

// Live is a set of versions, several of a key if need be, that tells which of its members match. It is not safe for
// concurrent use; several may share an Index.
//
// Memory: 4 bytes a version, and 1/8 byte for each version and column.
type Live struct {
	x     *Index
	times []uint32   // item → how often it is in the set
	words [][]uint64 // by column, of those in used: marks in the order of its values
}

// NewLive returns an empty set.
func (x *Index) NewLive() *Live {
	l := &Live{x: x, times: make([]uint32, len(x.h.VerKey)+len(x.initKey))}
	l.words = make([][]uint64, len(x.cols))
	for _, i := range x.used {
		l.words[i] = make([]uint64, len(x.cols[i].order)/64+1)
	}
	return l
}

// Add puts a key's version into the set, once more if it is in it; None is the key's initial value that no operation
// names. Cost: one write a column.
func (l *Live) Add(key, ver uint32) {
	item := l.x.item(key, ver)
	if item == history.None {
		return
	}
	if l.times[item]++; l.times[item] > 1 {
		return
	}
	for _, i := range l.x.used {
		if at := l.x.cols[i].pos[item]; at != history.None {
			l.words[i][at>>6] |= 1 << (at & 63)
		}
	}
}

// Remove takes a version out as often as it was added.
func (l *Live) Remove(key, ver uint32) {
	item := l.x.item(key, ver)
	if item == history.None {
		return
	}
	if l.times[item]--; l.times[item] > 0 {
		return
	}
	for _, i := range l.x.used {
		if at := l.x.cols[i].pos[item]; at != history.None {
			l.words[i][at>>6] &^= 1 << (at & 63)
		}
	}
}

// Each calls f for every version in the set of which predicate p is true. Cost: linear in the calls, and in the
// versions of which p is true by 64; see Index.Each for predicates of several columns.
func (l *Live) Each(p uint32, f func(key, ver uint32)) {
	x := l.x
	d := x.pred[p]
	first, end := x.candidates(d, True)
	how := x.form(d, True)
	for i := first; i < end; i++ {
		leaf := x.candidate(i, True)
		if leaf == nil {
			continue
		}
		c, words := &x.cols[leaf.col], l.words[leaf.col]
		for _, r := range x.ranges(leaf, True) {
			from, to := c.start[r.lo], c.start[r.hi]
			for w := from >> 6; w<<6 < to; w++ {
				word := words[w]
				if w == from>>6 {
					word &^= 1<<(from&63) - 1
				}
				if left := to - w<<6; left < 64 {
					word &= 1<<left - 1
				}
				for ; word != 0; word &= word - 1 {
					item := c.order[w<<6+uint32(bits.TrailingZeros64(word))]
					if x.counts(how, d, first, i, True, item) {
						f(x.key(item), x.version(item))
					}
				}
			}
		}
	}
}
