package watch

import "isovet/history"

// seat is where a transaction stands in its session: by the number that it has there, or, if one of the session has
// none, by at, such as its place in the order of arrival.
type seat struct {
	sess, seq, at   int64
	hasSess, hasSeq bool
}

// seatOf is a transaction's place by its line.
func seatOf(head *history.TxnHead, at int64) seat {
	return seat{head.Session, head.Seq, at, head.HasSess && !head.Init, head.HasSeq}
}

// ranks numbers the transactions of a small history in their sessions, from 0 without gaps, as a history wants it. −1:
// it has no session.
func ranks(all []seat) []int64 {
	bySeq := map[int64]bool{} // sessions
	for _, s := range all {
		if was, there := bySeq[s.sess]; s.hasSess {
			bySeq[s.sess] = s.hasSeq && (was || !there)
		}
	}
	out := make([]int64, len(all))
	for i, a := range all {
		if out[i] = -1; !a.hasSess {
			continue
		}
		out[i] = 0
		for j, b := range all {
			x, y := b.at, a.at
			if bySeq[a.sess] {
				x, y = b.seq, a.seq
			}
			if b.hasSess && b.sess == a.sess && (x < y || x == y && j < i) {
				out[i]++
			}
		}
	}
	return out
}

// seated gives a transaction its session and its number there, a rank.
func (s seat) seated(head *history.TxnHead, rank int64) {
	head.Session, head.HasSess, head.Seq, head.HasSeq = s.sess, rank >= 0, max(rank, 0), rank >= 0
}
