package predicates

import "isovet/history"

// Live is a set of versions, with any number per key, that tells which of its members match a predicate. It is not safe
// for concurrent use; several may share an Index.
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

// Add adds a version of a key; None is the key's initial value that no operation names. A version can be added several
// times. Cost: one write per column.
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

// Remove undoes one Add of a version. The version leaves the set once each Add is undone.
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

// Each calls f for every version in the set of which predicate p is true. Cost: linear in the calls, plus a 64th of the
// versions of which p is true; see Index.Each for predicates on several columns.
func (l *Live) Each(p uint32, f func(key, ver uint32)) {
	x := l.x
	x.eachMarked(p, func(col uint32) []uint64 { return l.words[col] },
		func(item uint32) { f(x.key(item), x.version(item)) })
}
