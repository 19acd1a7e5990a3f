package plan

import (
	"context"
	"slices"

	"isovet/history"
)

// Chunk is a chunk of a partition, wherever it lies.
type Chunk struct {
	ChunkInfo
	Bytes int
	// Moving chunks are of exceptions, made in a Round.
	Moving bool
	Round  int
	// Stamped chunks are of histories by timestamps.
	Stamped bool
	// Read appends the bytes to buf.
	Read func(buf []byte) ([]byte, error)
}

// Filter says what of the chunks counts.
type Filter struct {
	// Moved are the transactions that stand elsewhere; nil: none.
	Moved *Moves
	// Keep, if set, says which keys are looked at, by their hashes.
	Keep func(hash uint64) bool
	// Room is how many bytes of chunks may be open at once; 0: any number. Beyond, ErrRoom.
	Room int
	// Until is up to where whoever passes over the chunks looks for contradicting reads.
	Until Pos

	// has, if set, says which chunks may have what is looked for, and waits whether what was found waits for what comes
	// behind it. Of others only those are read that overlap one that has.
	has   func(c *Chunk) bool
	waits func() bool
	alone bool // nothing is looked for beside it: of others none is read
}

// near says which of the chunks, sorted by where they begin, may have what is looked for or overlap one that may; nil:
// all.
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
	until := First // how far those reach that may have it
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
	from := Last // where the next one begins that may have it
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

// ErrRoom is what a pass over a partition returns where so many of its chunks overlap in time that they take more
// memory than there is.
var ErrRoom error = noRoom{}

// visitor is given the transactions of a partition in the order.
type visitor interface {
	// number is the number of a key, or noKey.
	number(kind history.ValueKind, n int64, text []byte) uint32
	// txn reads the operations of the transaction at which the cursor stands, all of them.
	txn(c *cursor)
}

// merge goes through the transactions of chunks in their order. Cost: for each transaction of a chunk some
// comparisons, and log of how many chunks are open where they alternate; memory for the chunks that overlap.
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
			if f.Moved != nil && f.Moved.stale(c) {
				for c.last = false; !c.last; {
					c.nextOp()
				}
			} else {
				v.txn(c)
			}
			if c.nextTxn(); c.ended || !c.pos.Less(limit) {
				break
			}
		}
		m.down()
	}
}

// merger has the chunks that are open.
type merger struct {
	number func(kind history.ValueKind, n int64, text []byte) uint32
	open   []*cursor // a heap by pos
	held   int       // bytes
	bufs   [][]byte  // to be used again
	free   []*cursor // likewise
}

// begin opens a chunk.
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

// down puts the first of the heap, which has gone on, where it belongs; closes it if it has ended.
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

// Move is where a transaction stands that does not stand where the rule puts it: where it begins, and where it commits.
// At the serializable levels these are one.
type Move struct {
	Begin, Commit Pos
	Round         int // in which it was moved there
}

// Moves are the exceptions to the rule.
type Moves struct {
	At   map[uint64]Move
	bits []uint64 // by place: it was moved at some time
}

// NewMoves makes an empty set for a history of so many transactions. Cost: a bit each.
func NewMoves(txns int64) *Moves {
	return &Moves{At: map[uint64]Move{}, bits: make([]uint64, txns/64+1)}
}

// Set moves a transaction.
func (m *Moves) Set(place uint64, to Move) {
	m.At[place] = to
	m.bits[place/64] |= 1 << (place % 64)
}

// Unset puts it back.
func (m *Moves) Unset(place uint64) {
	delete(m.At, place)
	m.bits[place/64] &^= 1 << (place % 64)
}

// Moved reports whether a transaction is an exception.
func (m *Moves) Moved(place uint64) bool { return m.bits[place/64]>>(place%64)&1 != 0 }

// stale reports whether what a chunk says of a transaction holds no more.
func (m *Moves) stale(c *cursor) bool {
	if !m.Moved(c.place) {
		return c.moving
	}
	return !c.moving || m.At[c.place].Round != c.round
}
