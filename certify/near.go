package certify

import "isovet/history"

// near has the writes that read-atomic makes visible to a transaction with predicates: the writes of the committed
// transactions before it in its session, and of the transactions that it read from.
type near struct {
	x         *commitOrder
	bySession map[uint32]map[uint32]uint32 // session, key → the place of the last write
	readAt    []uint32                     // key → the place whose transaction read from a writer of it
	readFrom  []uint32                     // key → that writer's place; of several writers, the last one's
	brief     bool                         // readFrom is complete: there were not too many
}

// leave records the writes of the transaction at place p, for the later ones of its session.
func (n *near) leave(p uint32) {
	x, h, t := n.x, n.x.h, n.x.order[p-1]
	if h.Txns.Status[t] != history.Committed || x.wOff[p] == x.wOff[p+1] {
		return
	}
	last := n.bySession[h.Txns.Sess[t]]
	if last == nil {
		last = make(map[uint32]uint32)
		n.bySession[h.Txns.Sess[t]] = last
	}
	for _, k := range x.wrote(p) {
		last[k] = p
	}
}

// mostRead bounds the writes that enter examines for one reader. Tests set it to -1.
var mostRead = 1 << 12

// enter records the writes of the transactions that place p read from, or sets brief to false if there are too many.
func (n *near) enter(p uint32) {
	left := mostRead
	n.brief = left >= 0
	from := func(u uint32) {
		if u == 0 || u >= p || !n.brief {
			return
		}
		wrote := n.x.wrote(u)
		if left -= len(wrote); left < 0 {
			n.brief = false
			return
		}
		for _, k := range wrote {
			if n.readAt[k] != p {
				n.readAt[k], n.readFrom[k] = p, 0
			}
			n.readFrom[k] = max(n.readFrom[k], u)
		}
	}
	for _, r := range n.x.readsOf(p) {
		from(r.from)
	}
	for _, u := range n.x.seen[p] {
		from(u)
	}
}

// last returns the last place whose write of k is visible to the transaction at place p, or 0.
func (n *near) last(p, k uint32) (w uint32) {
	if n.readAt[k] == p {
		w = n.readFrom[k]
	}
	return max(w, n.bySession[n.x.h.Txns.Sess[n.x.order[p-1]]][k])
}
