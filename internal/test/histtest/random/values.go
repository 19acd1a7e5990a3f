package random

import (
	"slices"

	"isovet/history"
)

// small draws the operations of a mini-transaction, or of one on a single key.
func (g *randomRun) small(t *randomTxn) {
	a := g.rng.IntN(g.keys)
	if g.o.Single {
		t.ops = [][]randomOp{{{key: a}}, {{key: a}, {key: a, write: true}}, {{key: a, write: true}}}[g.rng.IntN(
			map[bool]int{true: 2, false: 3}[g.o.Mini])]
		return
	}
	b := (a + 1 + g.rng.IntN(max(g.keys-1, 1))) % g.keys
	t.ops = [][]randomOp{
		{{key: a}}, {{key: a}, {key: b}},
		{{key: a}, {key: a, write: true}}, {{key: a}, {key: a, write: true}}, {{key: b}, {key: a},
			{key: a, write: true}},
		{{key: a}, {key: b}, {key: a, write: true}}, {{key: a}, {key: b}, {key: a, write: true}, {key: b, write: true}},
		{{key: a}, {key: a, write: true}, {key: b}, {key: b, write: true}}, {{key: a}, {key: a, write: true},
			{key: a, write: true}, {key: a}},
	}[g.rng.IntN(9)]
}

// value draws what a write writes.
func (g *randomRun) value(k int) history.Value {
	fresh := func() history.Value {
		if g.rows != nil {
			return g.row()
		}
		return history.IntValue(g.next)
	}
	var v history.Value
	switch {
	case g.o.Deletes && g.rng.IntN(5) == 0:
	case g.o.Duplicates && g.lists != nil && g.rng.IntN(2) == 0:
		v = history.IntValue(1 + g.rng.Int64N(g.next)) // an element of its own or of another key
	case g.o.Duplicates && g.rng.IntN(2) == 0:
		if v = g.seen[k][g.rng.IntN(len(g.seen[k]))]; v.Kind == history.Null {
			v = fresh()
		}
	default:
		v = fresh()
	}
	g.next++
	return v
}

// push appends an element to a list.
func (g *randomRun) push(state, elem history.Value) history.Value {
	g.lists = append(g.lists, append(slices.Clone(g.lists[state.N]), elem))
	return history.IntValue(int64(len(g.lists) - 1))
}

// someStates makes states for arbitrary reads: each key's appends in some order, cut anywhere.
func (g *randomRun) someStates() {
	for k := range g.keys {
		state := g.initial[k]
		for _, i := range g.rng.Perm(len(g.txns)) {
			for _, op := range g.txns[i].ops {
				if op.write && op.key == k && g.rng.IntN(8) > 0 {
					state = g.push(state, op.val)
					g.note(k, state)
				}
			}
		}
	}
}

// draw draws what a write writes. An element of a list is seen only as a part of states.
func (g *randomRun) draw(op *randomOp) {
	if op.val = g.value(op.key); g.lists == nil {
		g.note(op.key, op.val)
	}
}

// note adds a value to those of its key.
func (g *randomRun) note(k int, v history.Value) { g.seen[k] = append(g.seen[k], v) }

// took reports whether a transaction takes effect in the run: the lost commits of half of the unknown ones do.
func (g *randomRun) took(t *randomTxn) bool {
	return t.status == history.Committed || t.status == history.Unknown && g.rng.IntN(2) == 0
}
