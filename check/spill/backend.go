package spill

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"isovet/check/spill/plan"
	"isovet/history"
	"isovet/internal/slice"
)

// Backend does the parts of a check that read the data or search, on other machines. Without one, [Check] does them on
// this machine. Both call the functions of this file and give the same answers. Arguments and answers are plain values.
// Answers are in the order of the requests.
type Backend interface {
	// Map maps groups of the input's pieces ([MapPieces]). It keeps their chunks for Replay and Writers, by
	// partition and in the order of groups, and their heads.
	Map(ctx context.Context, rule plan.Rule, groups []Group) ([]Mapped, error)
	// Heads are the heads of a group's transactions (plan.EachHead).
	Heads(ctx context.Context, group int) ([]byte, error)
	// Replay replays partitions ([Order.Replay]): the keys that keep has, or all if it is nil.
	Replay(ctx context.Context, o Order, keep []uint64, most int, parts []Part) ([]Replayed, error)
	// Writers finds the writers of the versions that the parts want ([WritersOf]).
	Writers(ctx context.Context, o Order, parts []Part) ([]Written, error)
	// Gather reads transactions of groups ([GatherPieces]).
	Gather(ctx context.Context, g *Gathering, groups []int) ([][]Found, error)
	// Solve solves windows ([SolveWindow]).
	Solve(ctx context.Context, ws []Solving) ([]Solution, error)
}

// Group is pieces From to To of the input.
type Group struct{ From, To int }

// Mapped is the result of mapping a group of pieces.
type Mapped struct {
	Stats plan.MapStats
	Bad   []uint64
	// Timeless are the committed transactions without times; of very many, only some.
	Timeless []uint64
	Init     uint64 // place of the initial transaction; plan.NoPlace: it is in another group
	Chunks   int
	// Stamped is what single transactions show by their timestamps.
	Stamped plan.StampSaid
	// Batches are in the order of places.
	Batches []Batch
}

// Batch is a run of transactions, with the first and last end of those that are known to have committed.
type Batch struct {
	First, Txns int64
	MinT, MaxT  int64
}

// MapPieces maps pieces. It gives chunks to emit and heads to heads, neither of which may keep them. Cost: a batch's
// memory, and a chunk a partition.
func MapPieces(ctx context.Context, pieces []Piece, rule plan.Rule,
	emit func(part int, chunk []byte, info plan.ChunkInfo) error, heads func([]byte) error) (r Mapped, err error) {
	r.Init = plan.NoPlace
	m := plan.StampMapper{Mapper: plan.Mapper{Rule: rule}}
	batch := m.Mapper.Batch
	if rule.Stamps.On {
		batch = m.Batch
	}
	m.Emit = func(part int, chunk []byte, info plan.ChunkInfo) error {
		r.Chunks++
		return emit(part, chunk, info)
	}
	for _, p := range pieces {
		err := p.runs(ctx, func(h *history.History, lo, hi uint32, base uint64) error {
			if h.Init != history.None && lo <= h.Init && h.Init < hi {
				r.Init = base + uint64(h.Init)
			}
			r.Batches = append(r.Batches, batchOf(h, lo, hi, base, rule))
			if err := batch(h, lo, hi, base); err != nil {
				return err
			}
			if len(m.Heads.B) > 1<<18 {
				err := heads(m.Heads.B)
				m.Heads.B = m.Heads.B[:0]
				return err
			}
			return nil
		})
		if err != nil {
			return r, err
		}
	}
	r.Stats, r.Bad, r.Timeless, r.Stamped = m.Stats, m.Bad, m.Timeless, m.Said
	return r, heads(m.Heads.B)
}

func batchOf(h *history.History, lo, hi uint32, base uint64, rule plan.Rule) Batch {
	b := Batch{First: int64(base + uint64(lo)), Txns: int64(hi - lo), MinT: plan.Last.T, MaxT: plan.First.T}
	for t := lo; t < hi; t++ {
		if T, ok := rule.At(h, t, base); h.Txns.Status[t] == history.Committed && ok {
			b.MinT, b.MaxT = min(b.MinT, T), max(b.MaxT, T)
		}
	}
	return b
}

// Order has what a pass over a partition needs: the exceptions to the rule, in the order of places.
type Order struct {
	Txns    int64
	Initial plan.Value
	Moved   []Moved
	Room    int
	Stamps  plan.Stamps
	Parts   int      // number of partitions of the keys
	Until   plan.Pos // up to where to look for contradicting reads
}

// Moved is the place of a transaction that is an exception.
type Moved struct {
	Place uint64
	To    plan.Move
}

// movedOf lists exceptions.
func movedOf(m *plan.Moves) []Moved {
	return slice.Map(slices.Sorted(maps.Keys(m.At)), func(p uint64) Moved { return Moved{p, m.At[p]} })
}

// moves makes the set of exceptions from the list.
func (o *Order) moves() *plan.Moves {
	m := plan.NewMoves(o.Txns)
	for _, x := range o.Moved {
		m.Set(x.Place, x.To)
	}
	return m
}

// Filter is the filter of the chunks for passes. By timestamps there are no exceptions.
func (o *Order) Filter(keep []uint64) plan.Filter {
	f := plan.Filter{Room: o.Room, Until: o.Until}
	if !o.Stamps.On {
		f.Moved = o.moves()
	}
	if keep != nil {
		f.Keep = (&keySet{bits: keep}).has
	}
	return f
}

// Part is a partition in a pass, as the driver knows it.
type Part struct {
	Part  int
	Moved []MovedChunk // chunks of exceptions, besides those that were mapped
	Wants []plan.Want  // for Writers
	Alone bool         // for Writers: only the writers of the wanted versions are asked for, not the next ones
	At    []plan.At    // for Writers, too
	Asked []plan.Asked // for Writers, too; by timestamps
}

// MovedChunk is a chunk of exceptions.
type MovedChunk struct {
	Info  plan.ChunkInfo
	Round int
	Bytes []byte
}

// Chunk returns the chunk in the form that passes take.
func (m *MovedChunk) Chunk() plan.Chunk {
	return plan.Chunk{ChunkInfo: m.Info, Bytes: len(m.Bytes), Moving: true, Round: m.Round,
		Read: func(buf []byte) ([]byte, error) { return append(buf, m.Bytes...), nil }}
}

// Replayed is the result of replaying a partition.
type Replayed struct {
	Misfits []plan.Misfit
	Keys    int
	Swept   Swept // by timestamps
	TooMany bool  // there are more than Found has
	NoRoom  bool  // plan.ErrRoom
}

// replayPart replays a partition's chunks and lists the contradicting reads, up to most.
func replayPart(ctx context.Context, chunks []plan.Chunk, f plan.Filter, initial plan.Value, most int) (r Replayed,
	err error) {
	over, beyond := errors.New("more misfits"), errors.New("no more contradicting reads are needed")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.Keys, err = plan.Replay(ctx, chunks, f, initial, func(m plan.Misfit) {
		if f.Until.Less(m.At) {
			cancel(beyond)
			return
		}
		if len(r.Misfits) > most {
			cancel(over)
			return
		}
		r.Misfits = append(r.Misfits, m)
	})
	switch {
	case err == nil || errors.Is(err, over) || errors.Is(err, beyond):
		if r.TooMany = len(r.Misfits) > most; r.TooMany {
			r.Misfits = nil
		}
	case errors.Is(err, plan.ErrRoom):
		r.NoRoom = true
	default:
		return r, err
	}
	return r, nil
}

// Written has the writers of wanted versions, in the order of the requests.
type Written struct {
	Writers [][]plan.Writer
	States  []plan.Value // values of keys
	Sources []plan.Source
	NoRoom  bool
}

// WritersOf finds the writers of versions, and the values of keys, in a partition's chunks.
func WritersOf(ctx context.Context, chunks []plan.Chunk, f plan.Filter, initial plan.Value, p *Part) (w Written,
	err error) {
	if len(p.Wants) > 0 {
		by, err := plan.Writers(ctx, chunks, f, initial, p.Wants, p.Alone)
		if errors.Is(err, plan.ErrRoom) {
			return Written{NoRoom: true}, nil
		}
		if err != nil {
			return w, err
		}
		w.Writers = append(w.Writers, slice.Map(p.Wants, func(w plan.Want) []plan.Writer { return by[w] })...)
	}
	if len(p.At) > 0 {
		w.States, err = plan.States(ctx, chunks, f, initial, p.At)
		if errors.Is(err, plan.ErrRoom) {
			return Written{NoRoom: true}, nil
		}
	}
	if len(p.Asked) > 0 && err == nil {
		w.Sources, err = plan.Sources(ctx, stampedChunks(chunks), f, initial, p.Asked)
		if errors.Is(err, plan.ErrRoom) {
			return Written{NoRoom: true}, nil
		}
	}
	return w, err
}

// Gathering names the transactions to read: those whose position is in one of the spans, and those at the places. Spans
// do not overlap; spans and places are sorted.
type Gathering struct {
	Rule    plan.Rule
	Spans   []plan.Span
	Places  []uint64
	Only    []plan.Value // keys of the initial transaction that are asked for; nil: all
	Moved   []Moved
	Counted []Counted

	sorted   sync.Once
	byCommit []Moved // Moved, in the order of their commits
}

// Counted is a transaction of unknown outcome that counts as committed, with its place by the rule.
type Counted struct {
	Place uint64
	At    plan.Pos
}

// special returns the exceptions with a position in a span, even if no other transaction of their piece has one there.
// Cost: the exceptions are sorted once; then a binary search a span.
func (g *Gathering) special() map[uint64]int {
	g.sorted.Do(func() {
		g.byCommit = slices.Clone(g.Moved)
		slices.SortFunc(g.byCommit, func(a, b Moved) int { return a.To.Commit.Compare(b.To.Commit) })
	})
	s := make(map[uint64]int)
	for i, w := range g.Spans {
		at, _ := slices.BinarySearchFunc(g.byCommit, w.From, func(m Moved, p plan.Pos) int {
			return m.To.Commit.Compare(p)
		})
		for ; at < len(g.byCommit) && w.Has(g.byCommit[at].To.Commit); at++ {
			s[g.byCommit[at].Place] = i
		}
	}
	return s
}

// Found is a transaction that was read, and the span that has its position, or -1.
type Found struct {
	Txn *plan.Txn
	At  int
}

// GatherPieces reads transactions, in the order of places.
func GatherPieces(ctx context.Context, pieces []Piece, g *Gathering) (got []Found, err error) {
	special := g.special()
	var only map[plan.Value]bool
	if g.Only != nil {
		only = slice.Set(g.Only)
	}
	counted := make(map[uint64]plan.Pos, len(g.Counted))
	for _, c := range g.Counted {
		counted[c.Place] = c.At
	}
	for _, p := range pieces {
		err := p.runs(ctx, func(h *history.History, from, to uint32, base uint64) error {
			first := base + uint64(from)
			want, _ := slices.BinarySearch(g.Places, first)
			next, _ := slices.BinarySearchFunc(g.Moved, first, func(m Moved, p uint64) int {
				return cmp.Compare(m.Place, p)
			})
			for u := from; u < to; u++ {
				place := base + uint64(u)
				at := -1
				wanted := want < len(g.Places) && g.Places[want] == place
				if wanted {
					want++
				}
				is := next < len(g.Moved) && g.Moved[next].Place == place
				if is {
					next++
				}
				switch {
				case len(g.Spans) == 0:
				case is:
					if s, ok := special[place]; ok {
						at = s
					}
				case u != h.Init && h.Txns.Status[u] == history.Committed:
					if T, ok := g.Rule.At(h, u, base); ok {
						at = plan.Find(g.Spans, plan.Pos{T: T, N: place})
					}
				}
				if at < 0 && !wanted {
					continue
				}
				var keys map[plan.Value]bool
				if u == h.Init {
					keys = only
				}
				x := plan.TxnOn(h, u, base, keys)
				T, _ := g.Rule.At(h, u, base)
				x.Rule = plan.Pos{T: T, N: place}
				x.Now = plan.Move{Begin: x.Rule, Commit: x.Rule}
				if is {
					x.Now = g.Moved[next-1].To
				}
				if c, ok := counted[place]; ok {
					x.Counts, x.Rule = true, c
				}
				got = append(got, Found{x, at})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}

// Solving is a window to be solved.
type Solving struct {
	Txns []*plan.Txn // in their present order
	Wish []plan.Want // values that keys must have at the end of the order
	// Known says that State has the values of all keys that the transactions read; otherwise they are guessed from
	// the reads.
	Known bool
	State []plan.Want
	// Last says that nothing comes after the window. Open says that the order must give the keys in the wishes their
	// values.
	Last, Open bool
	Options    plan.Options
}

// Solution is the answer for a window: see plan.Solve.
type Solution struct {
	Answer plan.Answer
	Order  []int32
}

// SolveWindow solves a window so that the rest of the order stays as it is; failing that, without regard to the rest.
func SolveWindow(ctx context.Context, w *Solving) (s Solution, err error) {
	wish := make(map[plan.Value]plan.Value, len(w.Wish))
	for _, x := range w.Wish {
		wish[x.Key] = x.Value
	}
	var state map[plan.Value]plan.Value
	if w.Known {
		state = make(map[plan.Value]plan.Value, len(w.State))
		for _, x := range w.State {
			state[x.Key] = x.Value
		}
	}
	s.Answer = plan.Unsolved
	if !w.Last {
		s.Answer, s.Order, err = plan.Solve(ctx, w.Txns, state, wish, false, w.Options)
	}
	if s.Answer == plan.Unsolved && err == nil {
		if !w.Open {
			wish = nil
		}
		s.Answer, s.Order, err = plan.Solve(ctx, w.Txns, state, wish, true, w.Options)
	}
	return s, err
}
