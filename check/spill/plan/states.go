package plan

import (
	"context"
	"slices"

	"isovet/history"
)

// At asks what a key holds just before a place.
type At struct {
	Key    Value
	Before Pos
}

// States says what keys of a partition hold before places, in the order in which that is asked. Cost: a pass over the
// chunks that have one of the keys.
func States(ctx context.Context, chunks []Chunk, f Filter, initial Value, asked []At) (out []Value, err error) {
	defer recoverDamaged(&err)
	s := &states{asked: asked, out: make([]Value, len(asked)), initial: initial}
	hashes := make(map[uint64]bool, len(asked))
	for i, a := range asked {
		k, fresh := s.t.find(a.Key.Kind, a.Key.N, []byte(a.Key.Text))
		if fresh {
			s.keys = append(s.keys, stateKey{holds: initial})
		}
		s.keys[k].asked = append(s.keys[k].asked, i)
		hashes[a.Key.Hash()] = true
	}
	for k := range s.keys {
		slices.SortFunc(s.keys[k].asked, func(i, j int) int { return asked[i].Before.Compare(asked[j].Before) })
	}
	keep := f.Keep
	f.Keep = func(h uint64) bool { return hashes[h] && (keep == nil || keep(h)) }
	if err := merge(ctx, chunks, f, s); err != nil {
		return nil, err
	}
	for k := range s.keys {
		for _, i := range s.keys[k].asked {
			s.out[i] = s.keys[k].holds
		}
	}
	return s.out, nil
}

// states is the visitor of States.
type states struct {
	t       table
	keys    []stateKey
	asked   []At
	out     []Value
	initial Value
}

type stateKey struct {
	holds Value
	asked []int // in the order of places; those that are answered are taken away
}

func (s *states) number(kind history.ValueKind, n int64, text []byte) uint32 {
	k, fresh := s.t.find(kind, n, text)
	if fresh { // another key with that hash
		s.keys = append(s.keys, stateKey{holds: s.initial})
	}
	return k
}

func (s *states) txn(c *cursor) {
	for {
		c.nextOp()
		if k := c.key; k != noKey && c.kind == Install {
			x := &s.keys[k]
			for len(x.asked) > 0 && !c.pos.Less(s.asked[x.asked[0]].Before) {
				s.out[x.asked[0]] = x.holds
				x.asked = x.asked[1:]
			}
			if len(x.asked) > 0 {
				x.holds = c.value()
			}
		}
		if c.last {
			return
		}
	}
}
