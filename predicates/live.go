package predicates

import "isovet/history"

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
	x.eachMarked(p, func(col uint32) []uint64 { return l.words[col] },
		func(item uint32) { f(x.key(item), x.version(item)) })
}
