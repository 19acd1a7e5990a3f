package plan

import (
	"context"

	"isovet/history"
)

// NoPlace is the place of the initial state's writer, which has none.
const NoPlace = ^uint64(0)

// Misfit is a contradicting read: it does not return the last version before it.
type Misfit struct {
	Key    Value
	Want   Value  // the value that it returned
	Reader uint64 // place
	At     Pos
	Found  uint64 // place of the writer of the last version before it, or NoPlace
	From   Pos
}

// cell is the value of a key while an order is replayed.
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
	texts   [][]byte // texts of cells; nil while no cell has one
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

// same reports whether a cell and a cursor have the same text.
func (r *replayer) same(k uint32, text []byte) bool {
	if int(k) >= len(r.texts) {
		return len(text) == 0
	}
	return string(r.texts[k]) == string(text)
}

func (r *replayer) op(c *cursor) {
	switch k := c.key; c.kind {
	case Read:
		if x := &r.cells[k]; r.contradicts(x, c) {
			r.out(Misfit{Key: r.t.key(k), Want: c.value(), Reader: c.place, At: c.pos, Found: x.place, From: x.pos})
		}
	case Install:
		r.install(c)
	}
}

// contradicts reports whether the cursor's read does not return the value of its cell.
func (r *replayer) contradicts(x *cell, c *cursor) bool {
	return x.kind != c.vkind || x.n != c.n ||
		c.vkind >= history.String && c.vkind != history.Bool && !r.same(c.key, c.text)
}

// install puts the cursor's write into its cell.
func (r *replayer) install(c *cursor) {
	x := &r.cells[c.key]
	x.kind, x.n, x.place, x.pos = c.vkind, c.n, c.place, c.pos
	if c.vkind == history.String || c.vkind == history.Row {
		r.setText(c.key, c.text)
	}
}

// value returns the last value read.
func (c *cursor) value() Value { return Value{Kind: c.vkind, N: c.n, Text: string(c.text)} }

// Replay replays the keys of a partition in order and passes on the contradicting reads. Cost: a look-up a operation;
// memory for a cell a key, and for the chunks that overlap in time.
func Replay(ctx context.Context, chunks []Chunk, f Filter, initial Value, out func(Misfit)) (keys int, err error) {
	defer recoverDamaged(&err)
	r := &replayer{initial: initial, out: out}
	err = merge(ctx, chunks, f, r)
	return int(r.t.n), err
}

// recoverDamaged turns a cursor's panic into an error.
func recoverDamaged(err *error) {
	switch d := recover().(type) {
	case nil:
	case *Damaged:
		*err = d
	default:
		panic(d)
	}
}
