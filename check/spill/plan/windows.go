package plan

import (
	"cmp"
	"slices"

	"isovet/history"
)

// Span is a stretch of the order, both ends within.
type Span struct{ From, To Pos }

// Has reports whether a place is within.
func (s Span) Has(p Pos) bool { return !p.Less(s.From) && !s.To.Less(p) }

// length is how much time a span takes, as a float: it may be more than an int64 holds.
func (s Span) length() float64 { return float64(s.To.T) - float64(s.From.T) }

// Case says what to do about a contradicting read once the writer of its version is known.
type Case uint8

const (
	InReach  Case = iota // an order of the transactions in Span may explain it
	Counts               // only a transaction of unknown outcome wrote it: it must have committed
	NoWriter             // no transaction that may have committed installed it
)

// Cause says why a read contradicts the order, and what to do.
type Cause struct {
	Case
	Span   Span   // InReach
	Saw    Writer // InReach: the writer of what the reader saw
	Writer Writer // Counts: who
	// Who takes part: the reader, the writer of what it saw, and the writers between, of which the first and the last.
	Txns []uint64
}

// CauseOf finds why a read contradicts the order. w are the writers of what it saw. Of two ways to mend it, to bring
// the reader before the next writer or the writers between before the one that it saw, Span is the shorter.
func CauseOf(m *Misfit, w []Writer) Cause {
	c := Cause{Txns: []uint64{m.Reader}}
	var saw, maybe *Writer
	for i := range w {
		x := &w[i]
		if x.Place == m.Reader {
			continue
		}
		switch x.Kind {
		case Install:
			// The last one before the read; else the first one behind it.
			if saw == nil || x.Pos.Less(m.At) {
				saw = x
			}
		case Maybe:
			if maybe == nil || x.Pos.Less(m.At) {
				maybe = x
			}
		}
	}
	switch {
	case saw != nil:
	case maybe != nil:
		c.Case, c.Writer = Counts, *maybe
		return c
	default:
		c.Case = NoWriter
		return c
	}
	c.Saw = *saw
	if saw.Place != NoPlace {
		c.Txns = append(c.Txns, saw.Place)
	}
	if m.At.Less(saw.Pos) {
		c.Span = Span{m.At, saw.Pos}
		return c
	}
	c.Span = Span{m.At, m.At}
	if saw.Next != NoPlace && saw.NextPos.Less(m.At) {
		c.Span.From = saw.NextPos
		c.Txns = append(c.Txns, saw.Next)
	}
	if m.Found != NoPlace && m.Found != saw.Next {
		c.Txns = append(c.Txns, m.Found)
	}
	if other := (Span{saw.Pos, m.From}); saw.Place != NoPlace && saw.Pos.T != First.T && other.From.Less(other.To) &&
		other.length() < c.Span.length() {
		c.Span = other
	}
	return c
}

// Join merges spans that touch, and returns them in order.
func Join(spans []Span) (out []Span) {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	for _, s := range spans {
		if n := len(out); n > 0 && !out[n-1].To.Less(s.From) {
			if out[n-1].To.Less(s.To) {
				out[n-1].To = s.To
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// Sessions checks that the order keeps sessions. The zero value is ready; transactions come in the order of their
// places.
type Sessions struct{ last map[int64]*told }

type told struct {
	at    Pos
	place uint64
}

// Add takes the next transaction that counts, and where it stands. Where it begins before an earlier one of its session
// has committed, that one is returned.
func (s *Sessions) Add(session int64, place uint64, at Move, committed bool) (before uint64, commit Pos, wrong bool) {
	if session == history.NoTime {
		return 0, Pos{}, false
	}
	t := s.last[session]
	if t == nil {
		if s.last == nil {
			s.last = make(map[int64]*told)
		}
		t = &told{at: First, place: NoPlace}
		s.last[session] = t
	}
	if t.place != NoPlace && !t.at.Less(at.Begin) {
		before, commit, wrong = t.place, t.at, true
	}
	// One of unknown outcome comes behind those before it, and nothing need come behind it.
	if committed && (t.place == NoPlace || t.at.Less(at.Commit)) {
		t.at, t.place = at.Commit, place
	}
	return before, commit, wrong
}
