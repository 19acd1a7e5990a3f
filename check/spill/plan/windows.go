package plan

import (
	"cmp"
	"slices"

	"isovet/history"
	"isovet/internal/slice"
)

// Span is a stretch of the order, with both ends.
type Span struct{ From, To Pos }

// Has reports whether a place is within.
func (s Span) Has(p Pos) bool { return !p.Less(s.From) && !s.To.Less(p) }

// Find returns the span that has a place, or -1. Spans are sorted and do not overlap.
func Find(spans []Span, p Pos) int {
	i, _ := slices.BinarySearchFunc(spans, p, func(s Span, p Pos) int { return s.To.Compare(p) })
	if i < len(spans) && spans[i].Has(p) {
		return i
	}
	return -1
}

// length returns the time of a span, as a float: it may exceed an int64.
func (s Span) length() float64 { return float64(s.To.T) - float64(s.From.T) }

// Case says how to treat a contradicting read whose version's writer is known.
type Case uint8

const (
	InReach  Case = iota // another order of the transactions in Span may explain it
	Counts               // only a transaction of unknown outcome wrote it, so that one committed
	NoWriter             // no transaction that may have committed wrote it
)

// Cause says why a read contradicts the order, and how to treat it.
type Cause struct {
	Case
	Span   Span   // InReach
	Saw    Writer // InReach: the writer of the version read
	Writer Writer // Counts: the transaction of unknown outcome
	// Txns are the reader, the writer of its version, and the first and last of the writers in between.
	Txns []uint64
}

// CauseOf finds why a read contradicts the order; w are the writers of its version. Span is the shorter of two ways to
// mend that: to move the reader before the next writer, or the writers in between before the version's writer.
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
			// Take the last writer before the read, or else the first one after it.
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

// Sessions checks that the order keeps sessions. The zero value is ready. Transactions come in the order of their
// places.
type Sessions struct{ last map[int64]*told }

type told struct {
	at    Pos
	place uint64
}

// Add adds the next transaction that counts, with its position. If it begins before an earlier transaction of its
// session has committed, Add returns that transaction.
func (s *Sessions) Add(session int64, place uint64, at Move, committed bool) (before uint64, commit Pos, wrong bool) {
	if session == history.NoTime {
		return 0, Pos{}, false
	}
	t := s.last[session]
	if t == nil {
		slice.MakeMap(&s.last)
		t = &told{at: First, place: NoPlace}
		s.last[session] = t
	}
	if t.place != NoPlace && !t.at.Less(at.Begin) {
		before, commit, wrong = t.place, t.at, true
	}
	// A transaction of unknown outcome follows its predecessors, but no transaction has to follow it.
	if committed && (t.place == NoPlace || t.at.Less(at.Commit)) {
		t.at, t.place = at.Commit, place
	}
	return before, commit, wrong
}
