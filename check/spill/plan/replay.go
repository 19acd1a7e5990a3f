package plan

import (
	"context"
	"slices"

	"isovet/history"
)

// NoPlace is the place of who made the initial state.
const NoPlace = ^uint64(0)

// Misfit is a read that does not see the last version before it.
type Misfit struct {
	Key    Value
	Want   Value  // what it saw
	Reader uint64 // place
	At     Pos
	Found  uint64 // place of who installed the version that the order has there; NoPlace: nobody
	From   Pos
}

// cell is what a key holds while an order is replayed.
type cell struct {
	n     int64
	place uint64
	pos   Pos
	kind  history.ValueKind
}

// replayer replays the keys of a partition.
type replayer struct {
	t       table
	cells   []cell
	texts   [][]byte // of cells with texts; nil while there are none
	initial Value
	out     func(Misfit)
}

func (r *replayer) number(kind history.ValueKind, n int64, text []byte) uint32 {
	k, fresh := r.t.find(kind, n, text)
	if fresh {
		r.cells = append(r.cells, cell{kind: r.initial.Kind, n: r.initial.N, place: NoPlace, pos: First})
		if r.initial.Text != "" {
			r.setText(k, []byte(r.initial.Text))
		}
	}
	return k
}

func (r *replayer) setText(k uint32, text []byte) {
	for len(r.texts) <= int(k) {
		r.texts = append(r.texts, nil)
	}
	r.texts[k] = append(r.texts[k][:0], text...)
}

// same reports whether the texts of a cell and of what a cursor read are the same.
func (r *replayer) same(k uint32, text []byte) bool {
	if int(k) >= len(r.texts) {
		return len(text) == 0
	}
	return string(r.texts[k]) == string(text)
}

func (r *replayer) txn(c *cursor) {
	for {
		c.nextOp()
		if k := c.key; k != noKey {
			x := &r.cells[k]
			switch c.kind {
			case Read:
				if x.kind != c.vkind || x.n != c.n || c.vkind >= history.String && c.vkind != history.Bool &&
					!r.same(k, c.text) {
					r.out(Misfit{Key: r.t.key(k), Want: c.value(), Reader: c.place, At: c.pos, Found: x.place,
						From: x.pos})
				}
			case Install:
				x.kind, x.n, x.place, x.pos = c.vkind, c.n, c.place, c.pos
				if c.vkind == history.String || c.vkind == history.Row {
					r.setText(k, c.text)
				}
			}
		}
		if c.last {
			return
		}
	}
}

// value is the value that was read last.
func (c *cursor) value() Value { return Value{Kind: c.vkind, N: c.n, Text: string(c.text)} }

// Replay replays the keys of a partition in the order and gives out what misfits. Cost: for each operation a look at
// its key's cell; memory for a cell a key, and for the chunks that overlap in time.
func Replay(ctx context.Context, chunks []Chunk, f Filter, initial Value, out func(Misfit)) (keys int, err error) {
	defer recoverDamaged(&err)
	r := &replayer{initial: initial, out: out}
	err = merge(ctx, chunks, f, r)
	return int(r.t.n), err
}

// recoverDamaged turns what a cursor throws into an error.
func recoverDamaged(err *error) {
	switch d := recover().(type) {
	case nil:
	case *Damaged:
		*err = d
	default:
		panic(d)
	}
}

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
// more than MaxWriters the first are listed. Cost: a pass over the chunks that have a wanted key.
func Writers(ctx context.Context, chunks []Chunk, f Filter, initial Value, wants []Want) (by map[Want][]Writer,
	err error) {
	defer recoverDamaged(&err)
	s := &search{by: make(map[Want][]Writer, len(wants))}
	hashes := make(map[uint64]bool, len(wants))
	for _, w := range wants {
		if _, twice := s.by[w]; twice {
			continue
		}
		s.by[w] = nil
		k, fresh := s.t.find(w.Key.Kind, w.Key.N, []byte(w.Key.Text))
		if fresh {
			s.wants = append(s.wants, nil)
			s.pending = append(s.pending, nil)
		}
		s.wants[k] = append(s.wants[k], w)
		hashes[w.Key.Hash()] = true
		if w.Value == initial {
			s.add(k, w, Writer{Kind: Install, Place: NoPlace, Pos: First})
		}
	}
	keep := f.Keep
	f.Keep = func(h uint64) bool { return hashes[h] && (keep == nil || keep(h)) }
	values := newValueSet(wants)
	f.has = func(c *Chunk) bool { return values.in(&c.Written) }
	f.waits = func() bool { return s.waiting > 0 }
	err = merge(ctx, chunks, f, s)
	for w, l := range s.by {
		s.by[w] = slices.Clip(l)
	}
	return s.by, err
}

// search is the visitor of Writers.
type search struct {
	t       table
	wants   [][]Want // by key
	pending [][]next // by key: whose next version is not known yet
	by      map[Want][]Writer
	waiting int // numbers in pending
}

type next struct {
	w  Want
	at int
}

func (s *search) add(k uint32, w Want, x Writer) {
	l := s.by[w]
	if len(l) == MaxWriters {
		return
	}
	x.Next, x.NextPos = NoPlace, Last
	s.by[w] = append(l, x)
	if x.Kind == Install {
		s.pending[k] = append(s.pending[k], next{w, len(l)})
		s.waiting++
	}
}

// loaded takes the header's initial value from a key to which the initial transaction writes: that one is listed as one
// whose write is not what was wanted.
func (s *search) loaded(k uint32, c *cursor) {
	for _, w := range s.wants[k] {
		if l := s.by[w]; len(l) == 1 && l[0].Place == NoPlace {
			s.by[w] = []Writer{{Kind: Intermediate, Place: c.place, Pos: c.pos, Next: NoPlace, NextPos: Last}}
		}
	}
	s.waiting -= len(s.pending[k])
	s.pending[k] = s.pending[k][:0]
}

func (s *search) number(kind history.ValueKind, n int64, text []byte) uint32 {
	k, fresh := s.t.find(kind, n, text)
	if fresh { // another key with that hash
		s.wants = append(s.wants, nil)
		s.pending = append(s.pending, nil)
	}
	return k
}

func (s *search) txn(c *cursor) {
	for {
		c.nextOp()
		if k := c.key; k != noKey && c.kind != Read {
			if c.kind == Install {
				if c.pos.T == First.T {
					s.loaded(k, c)
				}
				for _, p := range s.pending[k] {
					x := &s.by[p.w][p.at]
					x.Next, x.NextPos = c.place, c.pos
				}
				s.waiting -= len(s.pending[k])
				s.pending[k] = s.pending[k][:0]
			}
			for _, w := range s.wants[k] {
				if w.Value.Kind == c.vkind && w.Value.N == c.n && w.Value.Text == string(c.text) {
					s.add(k, w, Writer{Kind: c.kind, Place: c.place, Pos: c.pos})
				}
			}
		}
		if c.last {
			return
		}
	}
}
