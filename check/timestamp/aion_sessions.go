package timestamp

import (
	"cmp"
	"slices"

	"isovet/history"
)

// onlineSession is how far a session has got, and what has arrived of it ahead of its turn.
type onlineSession struct {
	next    int64
	last    int64 // the last that committed, and the end of it
	end     int64
	any     bool
	writer  bool
	pending []sessionTurn
}

type sessionTurn struct {
	seq, id    int64
	start, end int64
	part       bool
	writer     bool
}

// maxAhead is how many transactions of a session wait for one before them, which then counts as missing.
var maxAhead = 1 << 16

func (a *Aion) session(t *Arrival, start, end int64, part, writer bool) {
	if t.Session == NoSession || !a.o.Level.Sessions() {
		return
	}
	for int(t.Session) >= len(a.sess) {
		a.sess = append(a.sess, onlineSession{})
	}
	s := &a.sess[t.Session]
	x := sessionTurn{t.Seq, t.ID, start, end, part, writer}
	if t.Seq == NoSeq {
		x.seq = s.next
	}
	if x.seq != s.next || len(s.pending) > 0 {
		at, _ := slices.BinarySearchFunc(s.pending, x.seq, func(p sessionTurn, seq int64) int {
			return cmp.Compare(
				p.seq, seq)
		})
		s.pending = slices.Insert(s.pending, at, x)
		a.flushSession(t.Session, maxAhead)
		return
	}
	a.turn(s, &x)
}

// flushSession takes those whose turn has come, and the first of more than ahead that wait.
func (a *Aion) flushSession(n uint32, ahead int) {
	s := &a.sess[n]
	i := 0
	for i < len(s.pending) && (s.pending[i].seq <= s.next || len(s.pending)-i > ahead) {
		a.turn(s, &s.pending[i])
		i++
	}
	s.pending = slices.Delete(s.pending, 0, i)
}

// turn is the axiom SESSION.
func (a *Aion) turn(s *onlineSession, x *sessionTurn) {
	s.next = x.seq + 1
	if !x.part {
		return
	}
	if s.any && (x.start < s.end || a.o.Level.Serial() && x.start == s.end && x.writer && !s.writer) {
		a.final(Final{Axiom: SESSION, Txn: x.id, Other: s.last, Key: history.None, Op: history.None})
	}
	s.any, s.last, s.end, s.writer = true, x.id, x.end, x.writer
}
