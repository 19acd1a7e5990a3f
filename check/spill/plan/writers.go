package plan

import (
	"context"
	"slices"

	"isovet/history"
)

// Want is a version whose writers are wanted.
type Want struct{ Key, Value Value }

// Writer is a write of a wanted version.
type Writer struct {
	Kind  Kind
	Place uint64 // NoPlace: the initial state
	Pos   Pos
	// Next is the next transaction that installs another version of the key; NoPlace: none.
	Next    uint64
	NextPos Pos
}

// MaxWriters bounds the listed writes of a version.
const MaxWriters = 32

// Writers lists the writers of the wanted versions of a partition, in the order of their installs, the first MaxWriters
// of each. Unless alone is set, it also finds the transactions that install the next versions. Cost: a pass over the
// chunks whose values may be wanted, and unless alone is set over those behind them up to the key's next version.
func Writers(ctx context.Context, chunks []Chunk, f Filter, initial Value, wants []Want, alone bool) (
	by map[Want][]Writer, err error) {
	defer recoverDamaged(&err)
	s := &search{alone: alone, byVersion: make(map[version]int32, len(wants))}
	seen := make(map[Want]bool, len(wants))
	for _, w := range wants {
		if !seen[w] {
			seen[w] = true
			s.want(w, initial)
		}
	}
	values := newValueSet(wants)
	f.has = func(c *Chunk) bool { return values.in(&c.Written) }
	f.waits = func() bool { return s.waiting > 0 }
	f.alone = alone
	if err = merge(ctx, chunks, f, s); err != nil {
		return nil, err
	}
	by = make(map[Want][]Writer, len(s.wants))
	for i, w := range s.wants {
		by[w.Want] = slices.Clip(s.wants[i].by)
	}
	return by, nil
}

// search is the visitor of Writers.
type search struct {
	t         table
	wants     []wanted
	byVersion map[version]int32
	of        [][]int32 // key → its wanted versions
	pending   [][]next  // by key: versions whose next one is not known yet
	waiting   int       // numbers in pending
	alone     bool
}

// version is a version by its key's number.
type version struct {
	key  uint32
	kind history.ValueKind
	n    int64
	text string
}

// wanted is a wanted version, given by its key's number, with its writers.
type wanted struct {
	Want
	key uint32
	by  []Writer
}

type next struct {
	want int32
	at   int
}

func (s *search) want(w Want, initial Value) {
	k, fresh := s.t.find(w.Key.Kind, w.Key.N, []byte(w.Key.Text))
	if fresh {
		s.of, s.pending = append(s.of, nil), append(s.pending, nil)
	}
	i := int32(len(s.wants))
	s.of[k] = append(s.of[k], i)
	s.wants = append(s.wants, wanted{Want: w, key: k})
	s.byVersion[version{k, w.Value.Kind, w.Value.N, w.Value.Text}] = i
	if w.Value == initial {
		s.add(i, Writer{Kind: Install, Place: NoPlace, Pos: First})
	}
}

func (s *search) add(i int32, x Writer) {
	w := &s.wants[i]
	if len(w.by) == MaxWriters {
		return
	}
	x.Next, x.NextPos = NoPlace, Last
	w.by = append(w.by, x)
	if x.Kind == Install && !s.alone {
		s.pending[w.key] = append(s.pending[w.key], next{i, len(w.by) - 1})
		s.waiting++
	}
}

// loaded handles a key that the initial transaction writes: the header's initial value no longer applies to the key.
func (s *search) loaded(k uint32, c *cursor) {
	for _, i := range s.of[k] {
		if w := &s.wants[i]; len(w.by) == 1 && w.by[0].Place == NoPlace {
			w.by = []Writer{{Kind: Intermediate, Place: c.place, Pos: c.pos, Next: NoPlace, NextPos: Last}}
		}
	}
	s.waiting -= len(s.pending[k])
	s.pending[k] = s.pending[k][:0]
}

func (s *search) number(kind history.ValueKind, n int64, text []byte) uint32 {
	return s.t.get(kind, n, text)
}

func (s *search) op(c *cursor) {
	k := c.key
	if c.kind == Read {
		return
	}
	if c.kind == Install {
		if c.pos.T == First.T {
			s.loaded(k, c)
		}
		for _, p := range s.pending[k] {
			x := &s.wants[p.want].by[p.at]
			x.Next, x.NextPos = c.place, c.pos
		}
		s.waiting -= len(s.pending[k])
		s.pending[k] = s.pending[k][:0]
	}
	if i, is := s.byVersion[version{k, c.vkind, c.n, string(c.text)}]; is {
		s.add(i, Writer{Kind: c.kind, Place: c.place, Pos: c.pos})
	}
}
