package watch

import "isovet/history"

// sessionPlace says where a transaction stands in its session. Its number there decides; if one transaction of the
// session has no number, at does, such as the place in the order of arrival.
type sessionPlace struct {
	sess, seq, at   int64
	hasSess, hasSeq bool
}

// placeInSession reads a transaction's place from its line.
func placeInSession(head *history.TxnHead, at int64) sessionPlace {
	return sessionPlace{head.Session, head.Seq, at, head.HasSess && !head.Init, head.HasSeq}
}

// ranks numbers the transactions of a small history in their sessions, from 0 without gaps, as a history wants it. −1:
// it has no session.
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

// setOn writes the session into a transaction's head, with the transaction's rank as its number there.
func (s sessionPlace) setOn(head *history.TxnHead, rank int64) {
	head.Session, head.HasSess, head.Seq, head.HasSeq = s.sess, rank >= 0, max(rank, 0), rank >= 0
}
