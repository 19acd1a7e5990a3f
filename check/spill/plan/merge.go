package plan

import (
	"context"
	"slices"

	"isovet/history"
)

// Chunk is a chunk of a partition, in a file or in memory.
type Chunk struct {
	ChunkInfo
	Bytes int
	// Moving says that the chunk is of exceptions, made in Round.
	Moving bool
	Round  int
	// Stamped says that the chunk is of a history by timestamps.
	Stamped bool
	// Read appends the chunk's bytes to buf.
	Read func(buf []byte) ([]byte, error)
}

// Filter says which parts of the chunks count.
type Filter struct {
	// Moved are the exceptions to the rule; nil if there are none.
	Moved *Moves
	// Keep, if set, selects keys by their hashes.
	Keep func(hash uint64) bool
	// Room bounds the bytes of chunks that are open at once; 0: no bound. Beyond it the error is ErrRoom.
	Room int
	// Until is the place at which the search for contradicting reads ends.
	Until Pos

	// has, if set, says which chunks may have a wanted operation, and whether a find also needs the chunks after it. Of
	// the other chunks only those that overlap a wanted one are read.
	has   func(c *Chunk) bool
	waits func() bool
	alone bool // chunks that merely overlap a wanted one are not read
}

// near marks the chunks, sorted by their begin, that may have a wanted operation or overlap one that may; nil: all.
func (f *Filter) near(chunks []Chunk) []bool {
	if f.has == nil {
		return nil
	}
	in := make([]bool, len(chunks))
	if f.alone {
		for i := range chunks {
			in[i] = f.has(&chunks[i])
		}
		return in
	}
	until := First // end of the wanted chunks so far
	for i := range chunks {
		c := &chunks[i]
		if f.has(c) {
			in[i] = true
			if until.Less(c.Max) {
				until = c.Max
			}
		}
		in[i] = in[i] || !until.Less(c.Min)
	}
	from := Last // where the next wanted chunk begins
	for i := len(chunks) - 1; i >= 0; i-- {
		c := &chunks[i]
		in[i] = in[i] || !c.Max.Less(from)
		if f.has(c) {
			from = c.Min
		}
	}
	return in
}

// noRoom is the error of a merge in which too many chunks overlap in time.
type noRoom struct{}

func (noRoom) Error() string { return "too many chunks overlap in time" }

// ErrRoom is the error of a pass over a partition whose overlapping chunks exceed the memory bound.
var ErrRoom error = noRoom{}

// visitor receives the operations of a partition in order.
type visitor interface {
	// number returns the number of a key, or noKey.
	number(kind history.ValueKind, n int64, text []byte) uint32
	// op gets the cursor after each operation on a key with a number.
	op(c *cursor)
}

// merge visits the transactions of chunks in order. Cost: some comparisons a transaction, times the logarithm of the
// open chunks if they alternate; memory for the chunks that overlap.
func merge(ctx context.Context, chunks []Chunk, f Filter, v visitor) error {
	chunks = slices.Clone(chunks)
	slices.SortStableFunc(chunks, func(a, b Chunk) int { return a.Min.Compare(b.Min) })
	m := merger{number: v.number}
	if f.Keep != nil {
		m.number = func(kind history.ValueKind, n int64, text []byte) uint32 {
			if !f.Keep(HashKey(kind, n, text)) {
				return noKey
			}
			return v.number(kind, n, text)
		}
	}
	near := f.near(chunks)
	for next := 0; ; {
		for next < len(chunks) && (len(m.open) == 0 || !m.open[0].pos.Less(chunks[next].Min)) {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			next++
			if near != nil && !near[next-1] && !f.waits() {
				continue
			}
			if err := m.begin(&chunks[next-1], f.Room); err != nil {
				return err
			}
		}
		if len(m.open) == 0 {
			return nil
		}
		limit := Last
		if next < len(chunks) {
			limit = chunks[next].Min
		}
		for _, c := range m.open[1:min(3, len(m.open))] {
			if c.pos.Less(limit) {
				limit = c.pos
			}
		}
		c := m.open[0]
		for {
			stale := f.Moved != nil && f.Moved.stale(c)
			for c.last = false; !c.last; {
				if c.nextOp(); c.key != noKey && !stale {
					v.op(c)
				}
			}
			if c.nextTxn(); c.ended || !c.pos.Less(limit) {
				break
			}
		}
		m.down()
	}
}

// merger has the open chunks.
type merger struct {
	number func(kind history.ValueKind, n int64, text []byte) uint32
	open   []*cursor // a heap by pos
	held   int       // bytes
	bufs   [][]byte  // free buffers
	free   []*cursor // free cursors
}

func (m *merger) begin(k *Chunk, room int) error {
	c := &cursor{}
	if n := len(m.free); n > 0 {
		c, m.free = m.free[n-1], m.free[:n-1]
	}
	var buf []byte
	if n := len(m.bufs); n > 0 {
		buf, m.bufs = m.bufs[n-1], m.bufs[:n-1]
	}
	buf, err := k.Read(buf[:0])
	if err != nil {
		return err
	}
	c.moving, c.round, c.stamped, c.whole = k.Moving, k.Round, k.Stamped, buf
	c.open(buf, m.number)
	if c.none || c.ended {
		m.bufs, m.free = append(m.bufs, buf), append(m.free, c)
		return nil
	}
	if m.held += cap(buf); room > 0 && m.held > room && len(m.open) > 0 {
		return ErrRoom
	}
	m.open = append(m.open, c)
	for i := len(m.open) - 1; i > 0; {
		p := (i - 1) / 2
		if !m.open[i].pos.Less(m.open[p].pos) {
			break
		}
		m.open[i], m.open[p] = m.open[p], m.open[i]
		i = p
	}
	return nil
}

// down moves the first chunk of the heap, whose position has advanced, down to its place; it closes the chunk if that
// has ended.
func (m *merger) down() {
	if c := m.open[0]; c.ended {
		m.held -= cap(c.whole)
		m.bufs, m.free = append(m.bufs, c.whole), append(m.free, c)
		c.whole = nil
		last := len(m.open) - 1
		m.open[0] = m.open[last]
		m.open = m.open[:last]
	}
	for i := 0; ; {
		j := 2*i + 1
		if j >= len(m.open) {
			return
		}
		if j+1 < len(m.open) && m.open[j+1].pos.Less(m.open[j].pos) {
			j++
		}
		if !m.open[j].pos.Less(m.open[i].pos) {
			return
		}
		m.open[i], m.open[j] = m.open[j], m.open[i]
		i = j
	}
}

// Move is the new position of an exception: where it begins and where it commits. At the serializable levels these are
// equal.
type Move struct {
	Begin, Commit Pos
	Round         int // the round that moved it
}

// Moves are the exceptions to the rule.
type Moves struct {
	At   map[uint64]Move
	bits []uint64 // by place: it was moved at least once
}

// NewMoves returns an empty set for a history of txns transactions. Cost: a bit each.
func NewMoves(txns int64) *Moves {
	return &Moves{At: map[uint64]Move{}, bits: make([]uint64, txns/64+1)}
}

// Set moves a transaction.
func (m *Moves) Set(place uint64, to Move) {
	m.At[place] = to
	m.bits[place/64] |= 1 << (place % 64)
}

// Unset puts a transaction back to its place by the rule.
func (m *Moves) Unset(place uint64) {
	delete(m.At, place)
	m.bits[place/64] &^= 1 << (place % 64)
}

// Moved reports whether a transaction is an exception.
func (m *Moves) Moved(place uint64) bool { return m.bits[place/64]>>(place%64)&1 != 0 }

// stale reports whether a chunk's position of a transaction is outdated.
func (m *Moves) stale(c *cursor) bool {
	if !m.Moved(c.place) {
		return c.moving
	}
	return !c.moving || m.At[c.place].Round != c.round
}
