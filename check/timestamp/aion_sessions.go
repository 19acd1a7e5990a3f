package timestamp

import (
	"cmp"
	"math"
	"slices"

	"isovet/history"
)

// onlineSession is the progress of a session, and the transactions that arrived before their turn.
type onlineSession struct {
	next    int64
	last    int64 // the last transaction that committed, and its end
	end     int64
	named   int64 // the last of all; NoID
	any     bool
	writer  bool
	began   bool // next is known
	queued  bool // it is in Aion.waiting
	pending []sessionTurn
	gaps    []sessionGap
}

// sessionGap is a run of missing transactions, given by their numbers, between two committed ones; after is unused
// until the second one has arrived.
type sessionGap struct {
	from, to      int64
	before, after sessionTurn
}

// maxGaps bounds the remembered gaps of a session. If their transactions arrive, they are still judged.
const maxGaps = 16

type sessionTurn struct {
	seq, id    int64
	start, end int64
	due        int64 // once Missing has passed this, those before it are missing
	part       bool
	writer     bool
}

// maxAhead bounds the transactions of a session that wait for a missing one. Past it, the missing one counts as lost,
// whatever the watermark is.
var maxAhead = 1 << 12

func (a *Aion) session(t *Arrival, start, end int64, part, writer bool) {
	if !a.o.Level.Sessions() {
		return
	}
	if part && t.Session != NoSession {
		a.latest = max(a.latest, start)
	}
	if t.Session == NoSession {
		return
	}
	s := a.sessionAt(t.Session)
	x := sessionTurn{t.Seq, t.ID, start, end, a.latest, part, writer}
	if t.Seq == NoSeq {
		x.seq, s.began = s.next, true
	}
	if s.began && x.seq < s.next {
		a.found(s, &x)
		return
	}
	if s.began && x.seq == s.next && len(s.pending) == 0 {
		a.turn(s, &x)
		return
	}
	at, _ := slices.BinarySearchFunc(s.pending, x.seq, func(p sessionTurn, seq int64) int {
		return cmp.Compare(p.seq, seq)
	})
	s.pending = slices.Insert(s.pending, at, x)
	a.flushSession(t.Session, maxAhead)
	if len(s.pending) > 0 {
		if !s.queued {
			s.queued = true
			a.waiting = append(a.waiting, t.Session)
		}
		a.nextDue = min(a.nextDue, s.pending[0].due)
	}
}

func (a *Aion) sessionAt(n uint32) *onlineSession {
	for int(n) >= len(a.sess) {
		a.sess = append(a.sess, a.newSession())
	}
	return &a.sess[n]
}

// flushSession takes the transactions whose turn has come, those whose missing predecessors would be late, and if more
// than ahead wait, the first of these.
func (a *Aion) flushSession(n uint32, ahead int) {
	s := &a.sess[n]
	i := 0
	for i < len(s.pending) {
		x := &s.pending[i]
		if x.due == math.MinInt64 { // it precedes all that have timestamps
			x.due = a.latest
		}
		over := x.due < a.missing || a.closed || len(s.pending)-i > ahead
		if !over && (!s.began || x.seq > s.next) {
			break
		}
		if s.began && x.seq > s.next && a.attach && (!s.any || s.end <= a.horizon()) {
			s.next = x.seq // it was sent before the stream began
		}
		if s.began && x.seq > s.next {
			a.final(Final{Axiom: GAP, Txn: x.id, Other: s.named, Key: history.None, Op: history.None,
				Got: uint64(s.next), Want: uint64(x.seq - 1)})
			a.stats.Gaps++
			if len(s.gaps) == 0 {
				a.stats.GapSessions++
			}
			if len(s.gaps) == maxGaps {
				s.gaps = slices.Delete(s.gaps, 0, 1)
			}
			s.gaps = append(s.gaps, sessionGap{from: s.next, to: x.seq - 1, before: sessionTurn{id: s.last, end: s.end,
				part: s.any, writer: s.writer}})
		}
		if !s.began || x.seq >= s.next {
			s.began = true
			a.turn(s, x)
		}
		i++
	}
	s.pending = slices.Delete(s.pending, 0, i)
}

// flushSessions takes the waiting transactions that the watermark has passed.
func (a *Aion) flushSessions() {
	a.nextDue = math.MaxInt64
	left := a.waiting[:0]
	for _, n := range a.waiting {
		a.flushSession(n, maxAhead)
		s := &a.sess[n]
		if s.queued = len(s.pending) > 0; s.queued {
			left = append(left, n)
			a.nextDue = min(a.nextDue, s.pending[0].due)
		}
	}
	a.waiting = left
}

// turn checks the axiom SESSION for the next transaction of a session.
func (a *Aion) turn(s *onlineSession, x *sessionTurn) {
	s.next, s.named = x.seq+1, x.id
	if !x.part {
		return
	}
	a.follows(&sessionTurn{id: s.last, end: s.end, part: s.any, writer: s.writer}, x)
	for i := len(s.gaps) - 1; i >= 0 && !s.gaps[i].after.part; i-- {
		s.gaps[i].after = *x
	}
	s.any, s.last, s.end, s.writer = true, x.id, x.end, x.writer
}

// follows checks two successive transactions of a session.
func (a *Aion) follows(x, y *sessionTurn) {
	if x.part && y.part && (y.start < x.end || a.o.Level.Serial() && y.start == x.end && y.writer && !x.writer) {
		a.final(Final{Axiom: SESSION, Txn: y.id, Other: x.id, Key: history.None, Op: history.None})
	}
}

// found handles a missing transaction that arrives.
func (a *Aion) found(s *onlineSession, x *sessionTurn) {
	for i := range s.gaps {
		g := &s.gaps[i]
		if x.seq < g.from || x.seq > g.to {
			continue
		}
		a.stats.Found++
		rest := *g
		g.to, rest.from = x.seq-1, x.seq+1
		if x.part {
			a.follows(&g.before, x)
			a.follows(x, &g.after)
			g.after, rest.before = *x, *x
		}
		if rest.from <= rest.to {
			s.gaps = slices.Insert(s.gaps, i+1, rest)
		}
		if g = &s.gaps[i]; g.from > g.to {
			s.gaps = slices.Delete(s.gaps, i, i+1)
		}
		if len(s.gaps) == 0 {
			a.stats.GapSessions--
		}
		return
	}
}

// Missing declares transactions as missing that have not arrived, although a later one of their session had arrived
// when the latest start was ts or less. A GAP violation says so, and the session continues.
func (a *Aion) Missing(ts int64) {
	if ts > a.missing {
		a.missing = ts
		if a.nextDue < ts {
			a.flushSessions()
		}
	}
}
