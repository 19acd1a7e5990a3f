package watch

import "isovet/history"

// sessionPlace says where a transaction stands in its session: by its number seq or, if one transaction of the session
// has no seq, by at, such as its place in the order of arrival.
type sessionPlace struct {
	sess, seq, at   int64
	hasSess, hasSeq bool
}

// placeInSession reads a transaction's place from its line.
func placeInSession(head *history.TxnHead, at int64) sessionPlace {
	return sessionPlace{head.Session, head.Seq, at, head.HasSess && !head.Init, head.HasSeq}
}

// ranks returns the place of each transaction of a small history in its session: 0, 1, 2 without gaps, as histories
// require, or −1 without a session.
func ranks(all []sessionPlace) []int64 {
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

// setOn writes the session into a transaction's head, with rank as its number there.
func (s sessionPlace) setOn(head *history.TxnHead, rank int64) {
	head.Session, head.HasSess, head.Seq, head.HasSeq = s.sess, rank >= 0, max(rank, 0), rank >= 0
}
