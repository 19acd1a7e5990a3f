package certify

import "isovet/history"

// lone has, for each transaction of an order, the set of the writers without a clock that it sees, as bits by place.
// Cost: a word for each 64 of these writers and each place and predecessor.
type lone struct {
	c      *clocks
	number []uint32 // place → number of the writer, from 1; 0: it has a clock, or wrote nothing
	words  int
	bits   []uint64
}

// mostLone bounds the words; past it, predicateReplay walks the pasts instead. Tests set it to -1.
var mostLone = 1 << 25

func (c *clocks) newLone() *lone {
	l := &lone{c: c, number: make([]uint32, len(c.session))}
	n := uint32(0)
	for p := 1; p < len(c.session); p++ {
		if c.session[p] == history.None && c.x.wOff[p] < c.x.wOff[p+1] {
			n++
			l.number[p] = n
		}
	}
	l.words = (int(n) + 63) / 64
	if l.words*len(c.session) > mostLone {
		return nil
	}
	l.bits = make([]uint64, l.words*len(c.session))
	return l
}

// enter computes what the transaction at place p sees. All earlier places have entered.
func (l *lone) enter(p uint32) {
	row := l.bits[int(p)*l.words:][:l.words]
	see := func(u uint32) {
		if u == 0 {
			return
		}
		for i, b := range l.bits[int(u)*l.words:][:l.words] {
			row[i] |= b
		}
		if n := l.number[u]; n > 0 {
			row[(n-1)/64] |= 1 << ((n - 1) % 64)
		}
	}
	see(l.c.before[p])
	for _, r := range l.c.x.readsOf(p) {
		see(r.from)
	}
	for _, u := range l.c.x.seen[p] {
		see(u)
	}
}

// sees reports whether the transaction at place p sees the one at place w, a writer without a clock.
func (l *lone) sees(p, w uint32) bool {
	n := l.number[w] - 1
	return l.bits[int(p)*l.words+int(n/64)]>>(n%64)&1 == 1
}
