package plan

import (
	"context"
	"slices"

	"isovet/history"
)

// Want is a version of which is asked who wrote it.
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

// MaxWriters is how many writes of a version are listed.
const MaxWriters = 32

// Writers says who wrote the wanted versions of a partition: all that wrote it, Install by Install in the order. Of
// more than MaxWriters the first are listed. Which transactions come next is not looked for where alone is set. Cost: a
// pass over the chunks whose values may be wanted, and unless alone is set over those behind them until the next
// version of the key.
func Writers(ctx context.Context, chunks []Chunk, f Filter, initial Value, wants []Want, alone bool) (
	by map[Want][]Writer, err error) {
	defer recoverDamaged(&err)
	s := &search{alone: alone}
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
	t       table
	wants   []wanted
	slot    []uint32  // number and one of a wanted version, by its hash; 0: free
	of      [][]int32 // key → the versions of it that are wanted
	pending [][]next  // by key: whose next version is not known yet
	waiting int       // numbers in pending
	alone   bool
}

// wanted is a version that is wanted, by the number of its key, and who wrote it.
type wanted struct {
	Want
	key uint32
	by  []Writer
}

type next struct {
	want int32
	at   int
}

// want adds a version to those that are wanted.
func (s *search) want(w Want, initial Value) {
	k, fresh := s.t.find(w.Key.Kind, w.Key.N, []byte(w.Key.Text))
	if fresh {
		s.of, s.pending = append(s.of, nil), append(s.pending, nil)
	}
	i := int32(len(s.wants))
	s.of[k] = append(s.of[k], i)
	s.wants = append(s.wants, wanted{Want: w, key: k})
	if 2*len(s.wants) > len(s.slot) {
		s.slot = make([]uint32, max(64, 4*len(s.wants)))
		for j := range s.wants {
			s.enter(j)
		}
	} else {
		s.enter(int(i))
	}
	if w.Value == initial {
		s.add(i, Writer{Kind: Install, Place: NoPlace, Pos: First})
	}
}

// first is where a version is looked for first.
func (s *search) first(key uint32, kind history.ValueKind, n int64, text []byte) int {
	return PartOf(HashKey(history.Int, int64(HashKey(kind, n, text)+uint64(key)), nil), len(s.slot))
}

func (s *search) enter(i int) {
	w := &s.wants[i]
	at := s.first(w.key, w.Value.Kind, w.Value.N, []byte(w.Value.Text))
	for s.slot[at] != 0 {
		if at++; at == len(s.slot) {
			at = 0
		}
	}
	s.slot[at] = uint32(i) + 1
}

// find is the number of the wanted version that a cursor has read; -1: it is none of them.
func (s *search) find(c *cursor) int32 {
	at := s.first(c.key, c.vkind, c.n, c.text)
	for s.slot[at] != 0 {
		i := s.slot[at] - 1
		if w := &s.wants[i]; w.key == c.key && w.Value.Kind == c.vkind && w.Value.N == c.n &&
			w.Value.Text == string(c.text) {
			return int32(i)
		}
		if at++; at == len(s.slot) {
			at = 0
		}
	}
	return -1
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

// loaded takes the header's initial value from a key to which the initial transaction writes: that one is listed as one
// whose write is not what was wanted.
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

func (s *search) txn(c *cursor) {
	for {
		c.nextOp()
		if k := c.key; k != noKey && c.kind != Read {
			if c.kind == Install {
				if c.pos.T == First.T {
					s.loaded(k, c)
				}
				if p := s.pending[k]; len(p) > 0 {
					for _, p := range p {
						x := &s.wants[p.want].by[p.at]
						x.Next, x.NextPos = c.place, c.pos
					}
					s.waiting -= len(p)
					s.pending[k] = p[:0]
				}
			}
			if i := s.find(c); i >= 0 {
				s.add(i, Writer{Kind: c.kind, Place: c.place, Pos: c.pos})
			}
		}
		if c.last {
			return
		}
	}
}
