package plan

import (
	"context"
	"slices"

	"isovet/history"
	"isovet/internal/slice"
)

// At asks for the value of a key just before a place.
type At struct {
	Key    Value
	Before Pos
}

// States returns the values of a partition's keys before places, in the order of the requests. Cost: a pass over the
// few chunks before these places that have one of the keys; if they have no write of one, over more of them.
func States(ctx context.Context, chunks []Chunk, f Filter, initial Value, asked []At) (out []Value, err error) {
	defer recoverDamaged(&err)
	out = make([]Value, len(asked))
	left := slice.Numbers[int](len(asked))
	slices.SortFunc(left, func(i, j int) int { return asked[i].Before.Compare(asked[j].Before) })
	b := newBefore(chunks)
	for deep := 4; len(left) > 0; deep *= 8 { // the number of chunks before a place that are searched
		if left, err = b.pass(ctx, f, initial, asked, left, deep, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// before finds the chunks that lie shortly before places.
type before struct {
	chunks []Chunk // in the order of their begins, without the few of exceptions
	until  []Pos   // how far the chunks before each one reach
	moving []Chunk
}

func newBefore(chunks []Chunk) *before {
	b := &before{}
	for _, c := range chunks {
		if c.Moving {
			b.moving = append(b.moving, c)
		} else {
			b.chunks = append(b.chunks, c)
		}
	}
	slices.SortStableFunc(b.chunks, func(a, b Chunk) int { return a.Min.Compare(b.Min) })
	last := First
	for i := range b.chunks {
		b.until = append(b.until, last)
		if last.Less(b.chunks[i].Max) {
			last = b.chunks[i].Max
		}
	}
	return b
}

// pass searches some chunks before each place, and returns the requests that these do not answer. left is in the order
// of places.
func (b *before) pass(ctx context.Context, f Filter, initial Value, asked []At, left []int, deep int, out []Value) (
	still []int, err error) {
	s := &states{asked: asked, out: out, initial: initial, from: make([]Pos, len(asked)), all: make([]bool, len(asked))}
	hashes := make(map[uint64]bool, len(left))
	some := slices.Clone(b.moving)
	lo, end := 0, 0 // chunks lo to end are those of the present run
	for _, i := range left {
		a := &asked[i]
		n, _ := slices.BinarySearchFunc(b.chunks, a.Before, func(c Chunk, p Pos) int { return c.Min.Compare(p) })
		if first := max(0, n-deep); first > end {
			lo, end = first, first
		}
		if n > end {
			some = append(some, b.chunks[end:n]...)
			end = n
		}
		if s.all[i] = lo == 0; lo < len(b.until) {
			s.from[i] = b.until[lo]
		}
		k, fresh := s.t.find(a.Key.Kind, a.Key.N, []byte(a.Key.Text))
		if fresh {
			s.keys = append(s.keys, stateKey{holds: initial, at: First})
		}
		s.keys[k].asked = append(s.keys[k].asked, i)
		hashes[HashOf(a.Key)] = true
	}
	if 2*len(some) > len(b.chunks)+len(b.moving) {
		// Search more, and all requests are answered.
		some = append(slices.Clone(b.moving), b.chunks...)
		for _, i := range left {
			s.all[i] = true
		}
	}
	keep := f.Keep
	f.Keep = func(h uint64) bool { return hashes[h] && (keep == nil || keep(h)) }
	if err := merge(ctx, some, f, s); err != nil {
		return nil, err
	}
	for k := range s.keys {
		s.answer(&s.keys[k], Last)
	}
	slices.Sort(s.still)
	return slice.Filter(left, func(i int) bool { // in the order of places
		_, is := slices.BinarySearch(s.still, i)
		return is
	}), nil
}

// states is the visitor of States.
type states struct {
	t       table
	keys    []stateKey
	asked   []At
	from    []Pos  // by request: only a write after it can be the last one
	all     []bool // by request: all earlier chunks were searched
	out     []Value
	still   []int // open requests
	initial Value
}

type stateKey struct {
	holds Value
	at    Pos   // place of that write
	asked []int // in the order of places, without the answered ones
}

// answer answers the requests of a key up to a place.
func (s *states) answer(x *stateKey, to Pos) {
	for len(x.asked) > 0 {
		i := x.asked[0]
		if to != Last && to.Less(s.asked[i].Before) {
			return
		}
		if s.out[i] = x.holds; !s.all[i] && !s.from[i].Less(x.at) {
			s.still = append(s.still, i)
		}
		x.asked = x.asked[1:]
	}
}

func (s *states) number(kind history.ValueKind, n int64, text []byte) uint32 {
	k, fresh := s.t.find(kind, n, text)
	if fresh { // another key with the same hash
		s.keys = append(s.keys, stateKey{holds: s.initial, at: First})
	}
	return k
}

func (s *states) op(c *cursor) {
	if x := &s.keys[c.key]; c.kind == Install {
		s.answer(x, c.pos)
		if len(x.asked) > 0 {
			x.holds, x.at = c.value(), c.pos
		}
	}
}
