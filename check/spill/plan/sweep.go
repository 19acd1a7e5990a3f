package plan

import (
	"context"

	"isovet/check/timestamp"
	"isovet/history"
)

// Sweep checks EXT over a partition in the order of timestamps, and finds the keys that fail NOCONFLICT. Cost: that of
// Replay.
func Sweep(ctx context.Context, chunks []Chunk, f Filter, initial Value, s Stamps, ext func(StampViolation),
	conflict func(key Value)) (keys int, err error) {
	defer recoverDamaged(&err)
	v := &sweeper{replayer{initial: initial}, s, ext, conflict, map[uint32]bool{}}
	err = merge(ctx, chunks, f, v)
	return int(v.t.n), err
}

// sweeper is the visitor of Sweep.
type sweeper struct {
	replayer
	s        Stamps
	ext      func(StampViolation)
	conflict func(Value)
	known    map[uint32]bool // keys with a known conflict
}

func (s *sweeper) op(c *cursor) {
	k := c.key
	x := &s.cells[k]
	switch {
	case c.kind == Read && s.contradicts(x, c):
		want := Value{Kind: x.kind, N: x.n}
		if int(k) < len(s.texts) && (x.kind == history.String || x.kind == history.Row) {
			want.Text = string(s.texts[k])
		}
		s.ext(StampViolation{Axiom: timestamp.EXT, Txn: c.place, Other: x.place, Key: s.t.key(k), Got: c.value(),
			Want: want})
	case c.kind == Install:
		if !s.s.Serial && x.place != NoPlace && x.pos.T > c.start && !s.known[k] {
			s.known[k] = true
			s.conflict(s.t.key(k))
		}
		if s.install(c); c.pos.T == First.T {
			x.place = NoPlace
		}
	}
}

// Conflicts lists, for the keys that f keeps, each pair of writers such that one committed while the other was open.
// Cost: a pass, the pairs, and 16 bytes for each version of these keys.
func Conflicts(ctx context.Context, chunks []Chunk, f Filter, out func(StampViolation)) (err error) {
	defer recoverDamaged(&err)
	return merge(ctx, chunks, f, &pairs{out: out})
}

type pairs struct {
	t   table
	of  [][]committed // by key, in the order of commits
	out func(StampViolation)
}

type committed struct {
	ts    int64
	place uint64
}

func (p *pairs) number(kind history.ValueKind, n int64, text []byte) uint32 {
	k, fresh := p.t.find(kind, n, text)
	if fresh {
		p.of = append(p.of, nil)
	}
	return k
}

func (p *pairs) op(c *cursor) {
	if k := c.key; c.kind == Install && c.pos.T != First.T {
		of := p.of[k]
		for i := len(of) - 1; i >= 0 && of[i].ts > c.start; i-- {
			p.out(StampViolation{Axiom: timestamp.NOCONFLICT, Txn: c.place, Other: of[i].place, Key: p.t.key(k)})
		}
		p.of[k] = append(of, committed{c.pos.T, c.place})
	}
}

// Tie is two transactions that write and commit at one timestamp.
type Tie struct {
	A, B uint64 // places
	At   int64
}

// FirstTie finds the first tie in the partition of commits, or nil.
func FirstTie(ctx context.Context, chunks []Chunk, f Filter) (tie *Tie, err error) {
	defer recoverDamaged(&err)
	v := &ties{last: NoPlace}
	err = merge(ctx, chunks, f, v)
	return v.found, err
}

type ties struct {
	last  uint64
	at    int64
	found *Tie
}

func (t *ties) number(history.ValueKind, int64, []byte) uint32 { return 0 }

// op gets the only operation of each transaction.
func (t *ties) op(c *cursor) {
	switch {
	case t.last == NoPlace || t.at != c.pos.T:
	case t.found == nil || t.found.At == c.pos.T && t.found.B > max(t.last, c.place):
		t.found = &Tie{min(t.last, c.place), max(t.last, c.place), c.pos.T}
	}
	t.last, t.at = c.place, c.pos.T
}

// Asked asks how a read of a version violates the level: which transaction wrote it, relative to the reader's begin.
type Asked struct {
	Want
	Reader uint64
	Now    int64
}

// Source is the answer: among the version's writers, the one that makes the read least wrong. By is NoPlace if no
// transaction wrote it, or it is an initial value.
type Source struct {
	Kind timestamp.Kind
	By   uint64
}

// Sources answers for a partition, in the order of the requests. Cost: a pass over the chunks that have one of the
// keys.
func Sources(ctx context.Context, chunks []Chunk, f Filter, initial Value, asked []Asked) (out []Source, err error) {
	defer recoverDamaged(&err)
	s := &sources{asked: asked, initial: initial}
	hashes := make(map[uint64]bool, len(asked))
	for i, a := range asked {
		s.out = append(s.out, Source{timestamp.NeverWritten, NoPlace})
		k := s.number(a.Key.Kind, a.Key.N, []byte(a.Key.Text))
		s.keys[k].asked = append(s.keys[k].asked, i)
		hashes[HashOf(a.Key)] = true
	}
	f.Keep = func(h uint64) bool { return hashes[h] }
	if err := merge(ctx, chunks, f, s); err != nil {
		return nil, err
	}
	for _, k := range s.keys {
		for _, i := range k.asked {
			if asked[i].Value == k.holds {
				s.out[i] = Source{timestamp.Before, NoPlace}
			}
		}
	}
	return s.out, nil
}

// sources is the visitor of Sources.
type sources struct {
	t       table
	keys    []stateKey // holds has the initial value
	asked   []Asked
	out     []Source
	initial Value
}

func (s *sources) number(kind history.ValueKind, n int64, text []byte) uint32 {
	k, fresh := s.t.find(kind, n, text)
	if fresh {
		s.keys = append(s.keys, stateKey{holds: s.initial})
	}
	return k
}

func (s *sources) op(c *cursor) {
	if k := c.key; c.kind != Read && len(s.keys[k].asked) > 0 {
		v := c.value()
		for _, i := range s.keys[k].asked {
			if a := &s.asked[i]; a.Value == v {
				x, o := Source{staleness(c, a), c.place}, &s.out[i]
				if x.Kind > o.Kind || x.Kind == o.Kind && x.By < o.By {
					*o = x
				}
			}
		}
		if c.kind == Install && c.pos.T == First.T {
			s.keys[k].holds = v
		}
	}
}

// staleness says how a read of the version at the cursor violates the level: not at all, stale, or from the future.
func staleness(c *cursor, a *Asked) timestamp.Kind {
	switch {
	case c.place == a.Reader:
		return timestamp.Own
	case c.pos.T == First.T:
		return timestamp.Before
	case c.kind == Aborted || c.start > c.pos.T:
		return timestamp.Aborted
	case c.kind == Intermediate:
		return timestamp.Intermediate
	case c.pos.T <= a.Now:
		return timestamp.Before
	case c.start <= a.Now:
		return timestamp.Uncommitted
	}
	return timestamp.After
}
